//! How the events of a block become bytes, and bytes events again.
//!
//! Programs loop: the instruction that follows an instruction is mostly the one that followed it the
//! last time, at the address one stride further, with the value that memory held. [`Encoder`] and
//! [`Decoder`] keep the same [`State`] in step, which *predicts* the next event completely: thread,
//! code position, call stack, target and value. A predicted event takes no byte; it is counted. Any
//! other event is an *item*: a token of 16 bits that says what of it was predicted, then the numbers that
//! were not. Where predicting fails again and again, it is given up: the target or the value of each of the
//! site's events is a *literal* then, without a token. `trace-format/FORMAT.md` defines each bit.
//!
//! Value prediction goes back to Lipasti, Wilkerson, Shen (ASPLOS 1996); traces compressed by
//! predictors that writer and reader share to Burtscher et al. (VPC, IEEE Trans. Computers 2005), from
//! which this deviates in that one site has one predictor at a time and runs of hits have no code.
//!
//! The recorder's runtime encodes while the program runs, so the encoder allocates nothing, is of
//! bounded size, and its common path is short: [`Encoder::access`] is inlined, and leaves what is neither predicted
//! nor a literal to [`Encoder::event`].
//! What an event means is not known here; that is `trace-format`'s.
#![no_std]

mod decoder;
pub mod edge_kind;
mod encoder;
mod fault;
mod item;
mod literal;
mod memory;
mod number;
mod progression;
mod shape;
mod sites;
mod state;

pub use decoder::{Decoder, Extent, Visitor};
pub use encoder::{Encoder, Full, PREDICTED, STRIDE, Sink, Tried, TriedBy};
pub use fault::Fault;
pub use item::{HEAD_BYTES, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, OPEN_HEAD, head};
pub use memory::{LINE, Memory};
pub use shape::{Shape, Slots, TargetKind, kind, mask};
pub use sites::{BranchHistory, MAX_SITES, SiteIndex, Sites};
pub use state::{Coded, Operands, State};
