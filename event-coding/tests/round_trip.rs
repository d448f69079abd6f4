//! What the encoder makes of the events of a program, the decoder must read: loops over arrays, pointers that lead
//! anywhere, noise, and programs that change their ways, encoded as the recorder does it, with the program's memory at
//! hand.

use event_coding::{
    Coded, Decoder, Encoder, Fault, Full, HEAD_BYTES, LINE, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, Memory,
    OPEN_HEAD, Operands, Shape, Sink, Sites, State, Tried, edge_kind, head, kind, mask,
};
use std::collections::HashMap;

/// The program's memory; zeros at first.
#[derive(Default)]
struct Ram(HashMap<u64, u8>);

impl Ram {
    fn load(&self, addr: u64, size: u8) -> u64 {
        (0..u64::from(size)).rev().fold(0, |value, i| {
            value << 8 | u64::from(self.0.get(&addr.wrapping_add(i)).copied().unwrap_or(0))
        })
    }

    fn store(&mut self, addr: u64, size: u8, value: u64) {
        for i in 0..size {
            self.0.insert(addr.wrapping_add(i.into()), (value >> (8 * i)) as u8);
        }
    }
}

/// A block, and the memory that lines are taken from.
struct Block {
    bytes: Vec<u8>,
    head: usize,
    hits: u8,
    events: u32,
    item: [u8; MAX_ITEM_BYTES],
    literals: [u8; MAX_LITERAL_BYTES],
    /// None if it is not at hand, as in a converter.
    ram: Option<Ram>,
    lines: std::cell::Cell<u32>,
}

impl Block {
    fn new(ram: Option<Ram>) -> Self {
        Block {
            bytes: OPEN_HEAD.to_vec(),
            head: 0,
            hits: 0,
            events: 0,
            item: [0xaa; MAX_ITEM_BYTES],
            literals: [0xaa; MAX_LITERAL_BYTES],
            ram,
            lines: 0.into(),
        }
    }

    fn close(&mut self, token: u16) {
        self.bytes[self.head..][..HEAD_BYTES].copy_from_slice(&head(self.hits, token));
    }
}

impl Sink for Block {
    fn hit(&mut self, len: usize) -> bool {
        let fits = self.hits < MAX_RUN;
        if fits {
            self.bytes.extend_from_slice(&self.literals[..len]);
            self.hits += 1;
        }
        fits
    }

    fn hits(&self) -> u32 {
        self.hits.into()
    }

    fn literals(&mut self) -> &mut [u8; MAX_LITERAL_BYTES] {
        &mut self.literals
    }

    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES] {
        &mut self.item
    }

    fn put(&mut self, token: u16, len: usize, events: u32) {
        self.close(token);
        self.bytes.extend_from_slice(&self.item[..len]);
        self.events += u32::from(self.hits) + events;
        self.hits = 0;
        self.head = self.bytes.len();
        self.bytes.extend_from_slice(&OPEN_HEAD);
    }

    fn line(&self, addr: u64) -> Option<[u8; LINE]> {
        let ram = self.ram.as_ref()?;
        self.lines.set(self.lines.get() + 1);
        Some(std::array::from_fn(|i| ram.load(addr + i as u64, 1) as u8))
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }
}

/// How an instruction comes to its addresses, or a write to its value.
#[derive(Clone, Copy, Debug)]
enum Motion {
    Same,
    Stride(u64),
    /// Either of two distances, by chance.
    Near,
    Anywhere,
}

/// An instruction of a thread's loop.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    pc: u64,
    kind: u8,
    size: u8,
    target: Motion,
    value: Motion,
    addr: u64,
    stack: u32,
}

impl Instruction {
    fn new(random: &mut Random) -> Instruction {
        let kinds = [kind::READ, kind::READ, kind::WRITE, kind::ATOMIC_RMW, kind::ATOMIC_LOAD];
        let sizes = [1, 2, 4, 8, 8, 3];
        Instruction {
            pc: 0x40_0000 + random.below(1 << 16),
            kind: kinds[random.below(5) as usize],
            size: sizes[random.below(6) as usize],
            target: motion(random),
            value: motion(random),
            addr: 0x1_0000 + random.below(1 << 20),
            stack: random.below(3) as u32,
        }
    }

    fn shape(&self) -> Shape {
        Shape::access(self.kind, self.size, 0)
    }

    /// Performs it.
    fn run(&mut self, random: &mut Random, ram: &mut Ram) -> Operands {
        self.addr = match self.target {
            Motion::Same => self.addr,
            Motion::Stride(step) => self.addr.wrapping_add(step),
            Motion::Near => self.addr.wrapping_add(8 * random.below(2)),
            Motion::Anywhere => 0x1_0000 + random.below(1 << 34),
        };
        let old = ram.load(self.addr, self.size);
        let new = match self.value {
            Motion::Same => old,
            Motion::Stride(step) => old.wrapping_add(step),
            Motion::Near => old ^ random.below(2),
            Motion::Anywhere => random.next(),
        } & mask(self.size);
        let mut operands = Operands {
            target: self.addr,
            value: old,
            written: 0,
        };
        match self.kind {
            kind::WRITE => operands.value = new,
            kind::ATOMIC_RMW => operands.written = new,
            _ => return operands,
        }
        ram.store(self.addr, self.size, new);
        operands
    }
}

fn motion(random: &mut Random) -> Motion {
    match random.below(6) {
        0 => Motion::Same,
        1..=2 => Motion::Stride(1 << random.below(8)),
        3 => Motion::Near,
        _ => Motion::Anywhere,
    }
}

type Coder = Encoder<Box<Memory>, Box<Sites>>;

/// Encodes as the recorder's runtime does.
fn encode(coder: &mut Coder, block: &mut Block, instruction: &Instruction, operands: Operands) -> bool {
    let Instruction { pc, stack, .. } = *instruction;
    let shape = instruction.shape();
    let Operands { target, value, .. } = operands;
    let has_room = block.hits() < MAX_RUN.into();
    let done = match instruction.kind {
        kind::READ | kind::WRITE if has_room => {
            let mut tried = coder.access::<{ edge_kind::PLAIN }>(pc, stack, shape, target, || value, block);
            if tried == Tried::Branching {
                tried = coder.access::<{ edge_kind::BRANCHING }>(pc, stack, shape, target, || value, block);
            }
            if tried == Tried::Moving {
                tried = coder.access::<{ edge_kind::MOVING }>(pc, stack, shape, target, || value, block);
            }
            match tried {
                Tried::Hit => true,
                Tried::ByMode(site) => coder.by_mode(site, stack, shape, target, value, block),
                Tried::LiteralValue(site) => coder.literal_value(site, stack, shape, target, value, block),
                Tried::LiteralTarget(site) => coder.literal_target(site, stack, shape, target, value, block),
                Tried::Branching | Tried::Moving | Tried::Other => false,
            }
        }
        kind::READ | kind::WRITE => false,
        _ => coder.try_event(pc, stack, shape, operands, block),
    };
    done || coder.event(pc, stack, shape, operands, block) != Err(Full)
}

fn decode(bytes: &[u8], open: Option<u32>) -> Result<Vec<Coded>, (u32, Fault)> {
    let mut state = State::<Box<Memory>, Box<Sites>>::new(Box::default(), Box::default());
    let mut events = vec![];
    let extent = Decoder::new(&mut state, bytes).run(open, |event| {
        events.push(event);
        Ok::<_, Fault>(())
    })?;
    assert_eq!(extent.events as usize, events.len());
    Ok(events)
}

/// A block of a random program: its bytes, and its events; the number of lines that were asked for.
fn block(random: &mut Random, coder: &mut Coder, rounds: u64, with_memory: bool) -> (Block, Vec<Coded>) {
    let mut ram = Ram::default();
    let mut block = Block::new(None);
    coder.start_block();
    let mut events = vec![];
    let mut threads: Vec<Vec<Instruction>> = (0..1 + random.below(3))
        .map(|_| (0..1 + random.below(6)).map(|_| Instruction::new(random)).collect())
        .collect();
    let mut thread = 0;
    coder.switch(0, &mut block);
    for _ in 0..rounds {
        if random.below(40) == 0 {
            for _ in 0..1 + random.below(2) {
                thread = random.below(threads.len() as u64) as usize;
                coder.switch(thread as u32, &mut block);
            }
        }
        if random.below(400) == 0 {
            // The program changes its ways.
            let body = &mut threads[thread];
            let at = random.below(body.len() as u64) as usize;
            (body[at].target, body[at].value) = (motion(random), motion(random));
        }
        for instruction in &mut threads[thread] {
            if random.below(12) == 0 {
                continue;
            }
            if random.below(30) == 0 {
                // Called from elsewhere, from now on.
                instruction.stack = random.below(3) as u32;
            }
            let operands = instruction.run(random, &mut ram);
            block.ram = with_memory.then(|| std::mem::take(&mut ram));
            assert!(
                encode(coder, &mut block, instruction, operands),
                "there is room for more sites"
            );
            ram = block.ram.take().unwrap_or(ram);
            events.push(Coded {
                thread: thread as u32,
                stack: instruction.stack,
                pc: instruction.pc,
                shape: instruction.shape(),
                operands,
            });
        }
    }
    (block, events)
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut coder = Coder::new(Box::default(), Box::default());
    let (mut all, mut bytes, mut lines) = (0, 0, 0);
    for round in 0..400 {
        let rounds = 1 << random.below(11);
        let (mut block, events) = block(&mut random, &mut coder, rounds, round % 4 != 0);
        let hits = block.hits.into();
        assert_eq!(decode(&block.bytes, Some(hits)).as_ref(), Ok(&events), "left open");
        block.close(0);
        assert_eq!(decode(&block.bytes, None).as_ref(), Ok(&events), "closed");
        assert_eq!(block.events as usize + usize::from(block.hits), events.len());
        (all, bytes, lines) = (all + events.len(), bytes + block.bytes.len(), lines + block.lines.get());
    }
    assert!(all > 100_000 && lines > 100, "{all} events, {lines} lines");
    // Half of it is noise.
    assert!(bytes < 8 * all, "{bytes} bytes for {all} events");
}

#[test]
fn whatever_is_cut_off_is_no_block() {
    let mut random = Random(77);
    let mut coder = Coder::new(Box::default(), Box::default());
    let (mut block, events) = block(&mut random, &mut coder, 60, true);
    block.close(0);
    let whole = events.len();
    for len in 0..block.bytes.len() {
        // A run whose end is just there could be the last one; what counts the events then misses some.
        if let Ok(part) = decode(&block.bytes[..len], None) {
            assert!(
                part.len() < whole && part == events[..part.len()],
                "the first {len} bytes"
            );
        }
    }
}

#[test]
fn damaged_blocks_never_panic() {
    let mut random = Random(4711);
    let mut coder = Coder::new(Box::default(), Box::default());
    for _ in 0..60 {
        let (mut block, _) = block(&mut random, &mut coder, 50, true);
        block.close(0);
        for _ in 0..200 {
            let mut bytes = block.bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
            let _ = decode(&bytes, None);
            let _ = decode(&bytes, Some(random.below(300) as u32));
        }
    }
}
