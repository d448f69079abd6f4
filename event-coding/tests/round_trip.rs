//! What the encoder makes of the events of a program, the decoder must read: loops over arrays, pointers that lead
//! anywhere, noise, and programs that change their ways, encoded as the recorder does it, with the program's memory at
//! hand.

use event_coding::{
    Coded, Decoder, Encoder, Fault, HEAD_BYTES, LINE, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, MAX_RUN, Memory, OPEN_HEAD,
    Operands, PREDICTED, STRIDE, Shape, Sink, SiteIndex, Sites, State, Tried, TriedBy, edge_kind, head, kind, mask,
};
use std::collections::HashMap;

/// The program's memory; zeros at first.
#[derive(Default)]
struct Ram {
    bytes: HashMap<u64, u8>,
    /// The values that were read last, the latest first.
    read: [u64; 2],
}

impl Ram {
    fn load(&self, addr: u64, size: u8) -> u64 {
        (0..u64::from(size)).rev().fold(0, |value, i| {
            value << 8 | u64::from(self.bytes.get(&addr.wrapping_add(i)).copied().unwrap_or(0))
        })
    }

    fn store(&mut self, addr: u64, size: u8, value: u64) {
        for i in 0..size {
            self.bytes.insert(addr.wrapping_add(i.into()), (value >> (8 * i)) as u8);
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
    /// Of a value: either of the two that were read last.
    Copy,
    /// Of a value: all bytes change but the highest one.
    Low,
    /// Of a value: it is a floating-point number that goes on by equal steps.
    Number(f64),
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
            Motion::Anywhere | Motion::Copy | Motion::Low | Motion::Number(_) => 0x1_0000 + random.below(1 << 34),
        };
        let old = ram.load(self.addr, self.size);
        let new = match self.value {
            Motion::Same => old,
            Motion::Stride(step) => old.wrapping_add(step),
            Motion::Near => old ^ random.below(2),
            Motion::Anywhere => random.next(),
            Motion::Copy => ram.read[random.below(2) as usize],
            Motion::Low => old ^ random.next() & mask(self.size) >> 8,
            Motion::Number(step) if self.size == 4 => (f32::from_bits(old as u32) + step as f32).to_bits().into(),
            Motion::Number(step) => (f64::from_bits(old) + step).to_bits(),
        } & mask(self.size);
        let mut operands = Operands {
            target: self.addr,
            value: old,
            written: 0,
        };
        match self.kind {
            kind::WRITE => operands.value = new,
            kind::ATOMIC_RMW => operands.written = new,
            _ => {}
        }
        if self.kind != kind::WRITE {
            ram.read = [old, ram.read[0]];
        }
        if !matches!(self.kind, kind::WRITE | kind::ATOMIC_RMW) {
            return operands;
        }
        ram.store(self.addr, self.size, new);
        operands
    }
}

fn motion(random: &mut Random) -> Motion {
    match random.below(10) {
        0 => Motion::Same,
        1..=2 => Motion::Stride(1 << random.below(8)),
        3 => Motion::Near,
        4 => Motion::Copy,
        5 => Motion::Low,
        6..=7 => Motion::Number((random.below(64) as f64 - 32.0) / 8.0),
        _ => Motion::Anywhere,
    }
}

type Coder = Encoder<Box<Memory>, Box<Sites>>;

/// An access that comes by the kind of edge `EDGE`, of a site with these modes.
fn by<const EDGE: u8>(coder: &mut Coder, block: &mut Block, site: SiteIndex, modes: (u8, u8), given: Coded) -> bool {
    let Operands { target, value, .. } = given.operands;
    macro_rules! access_by {
        ($target:expr, $value:expr) => {
            coder.access_by::<EDGE, { $target }, { $value }>(site, given.stack, given.shape, target, value, block)
        };
        ($target:expr) => {
            match modes.1 {
                0 => access_by!($target, 0),
                1 => match access_by!($target, STRIDE) {
                    TriedBy::Beyond => access_by!($target, PREDICTED),
                    tried => tried,
                },
                2..=3 => access_by!($target, PREDICTED),
                4 => access_by!($target, 4),
                5 => access_by!($target, 5),
                _ => access_by!($target, 6),
            }
        };
    }
    let tried = match modes.0 {
        0 => access_by!(0),
        1..=3 => access_by!(PREDICTED),
        4 => access_by!(4),
        _ => access_by!(5),
    };
    assert_ne!(tried, TriedBy::Beyond, "there is nothing else to try");
    tried == TriedBy::Hit
}

/// Encodes as the recorder's runtime does.
fn encode(coder: &mut Coder, block: &mut Block, given: Coded) -> bool {
    let Coded {
        stack,
        pc,
        shape,
        operands,
        ..
    } = given;
    let Operands { target, value, .. } = operands;
    if !matches!(shape.kind, kind::READ | kind::WRITE) {
        let done = coder.try_event(pc, stack, shape, operands, block);
        return done
            || if coder.finds_at_once(pc, shape) {
                coder.missed(pc, stack, shape, operands, block).is_ok()
            } else {
                coder.event(pc, stack, shape, operands, block).is_ok()
            };
    }
    if block.hits() >= MAX_RUN.into() {
        return coder.event(pc, stack, shape, operands, block).is_ok();
    }
    let mut tried = coder.access(pc, stack, shape, target, || value, block);
    let is_plain = tried != Tried::Branching;
    if tried == Tried::Branching {
        let (branches, last) = coder.last();
        tried = if branches.expects_second() {
            coder.access_from::<{ edge_kind::SECOND }>(branches, last, pc, stack, shape, target, || value, block)
        } else {
            coder.access_from::<{ edge_kind::FIRST }>(branches, last, pc, stack, shape, target, || value, block)
        };
    }
    if tried == Tried::Moving {
        let (branches, last) = coder.last();
        tried = coder.access_from::<{ edge_kind::ANY }>(branches, last, pc, stack, shape, target, || value, block);
    }
    let done = match tried {
        Tried::Hit => true,
        Tried::By(site) => match coder.modes(site, shape) {
            Some(modes) if is_plain => by::<{ edge_kind::PLAIN }>(coder, block, site, modes, given),
            Some(modes) => by::<{ edge_kind::ANY }>(coder, block, site, modes, given),
            None => false,
        },
        Tried::Branching | Tried::Moving | Tried::Other => false,
    };
    done || coder.missed(pc, stack, shape, operands, block).is_ok()
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
            let event = Coded {
                thread: thread as u32,
                stack: instruction.stack,
                pc: instruction.pc,
                shape: instruction.shape(),
                operands,
            };
            block.ram = with_memory.then(|| std::mem::take(&mut ram));
            assert!(encode(coder, &mut block, event), "there is room for more sites");
            ram = block.ram.take().unwrap_or(ram);
            events.push(event);
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

/// A matrix of numbers with equal distances, read column by column: each is too far from the next one for memory to
/// have it.
#[test]
fn floating_point_numbers_with_equal_distances_take_no_bytes() {
    let mut coder = Coder::new(Box::default(), Box::default());
    for (size, pc) in [(4, 0x40_0000), (8, 0x40_0010)] {
        coder.start_block();
        let mut block = Block::new(None);
        coder.switch(0, &mut block);
        let mut events = vec![];
        for (column, row) in (0..64_u64).flat_map(|column| (0..256_u64).map(move |row| (column, row))) {
            let number = row as f64 - column as f64 * 0.25;
            let value = match size {
                4 => (number as f32).to_bits().into(),
                _ => number.to_bits(),
            };
            let event = Coded {
                thread: 0,
                stack: 1,
                pc,
                shape: Shape::access(kind::READ, size, 0),
                operands: Operands {
                    target: 0x10_0000 + row * (1 << 20) + column * 64,
                    value,
                    written: 0,
                },
            };
            assert!(encode(&mut coder, &mut block, event));
            events.push(event);
        }
        block.close(0);
        assert_eq!(decode(&block.bytes, None).as_ref(), Ok(&events));
        // The start of each column, and where it passes zero.
        assert!(block.bytes.len() < 64 * 80, "{} bytes, {size}", block.bytes.len());
    }
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
