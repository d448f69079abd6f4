//! Exported functions that know where they were called from.
//!
//! A hook needs its return address: the position in the program. Stable Rust cannot ask for it,
//! but a naked function can put it into the register of the argument behind the last.

/// Exports C functions under the given names, each a jump to a Rust function that takes the
/// return address as one more argument, in the named register: `rdi`, `rsi`, `rdx`, `rcx`, `r8`
/// or `r9`, the first that the C function's own arguments leave free.
macro_rules! export {
    ($($name:ident = $body:path, $register:literal;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                body = sym $body,
            )
        }
    )* };
}
pub(crate) use export;
