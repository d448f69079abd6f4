//! One function: which of its accesses the runtime is not told of.
//!
//! What nobody else sees does not count: a function's own frame, memory that a function it called has just handed out,
//! and the place of its own result. The registers that point there are followed along all paths through the function;
//! where one may, the access is not reported.

use super::super::machine_code::KEPT;
use super::addresses::Stretch;
use super::calls::{Calls, Length};
use crate::assembly::{Access, By};
use hashbrown::{HashMap, HashSet};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

/// Stores past the caches and of whole lines, which compilers make where the program says so, after they have instrumented
/// the rest.
const DIRECT: [Mnemonic; 12] = [
    Mnemonic::Maskmovdqu,
    Mnemonic::Maskmovq,
    Mnemonic::Movdir64b,
    Mnemonic::Movdiri,
    Mnemonic::Movntdq,
    Mnemonic::Movnti,
    Mnemonic::Movntpd,
    Mnemonic::Movntps,
    Mnemonic::Movntq,
    Mnemonic::Vmovntdq,
    Mnemonic::Vmovntpd,
    Mnemonic::Vmovntps,
];

/// Instructions that ask for what is outside of the program.
const ASKING: [Mnemonic; 6] = [
    Mnemonic::Rdpid,
    Mnemonic::Rdrand,
    Mnemonic::Rdseed,
    Mnemonic::Rdtsc,
    Mnemonic::Rdtscp,
    Mnemonic::Syscall,
];

/// Registers, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set(u16);

impl Set {
    fn of(registers: &[Register]) -> Set {
        Set(registers.iter().fold(0, |set, &register| set | bit(register)))
    }

    fn has(self, register: Register) -> bool {
        self.0 & bit(register) != 0
    }

    fn put(&mut self, register: Register, is_in: bool) {
        match is_in {
            true => self.0 |= bit(register),
            false => self.0 &= !bit(register),
        }
    }
}

/// None for what is no general register.
fn bit(register: Register) -> u16 {
    match register.is_gpr() {
        true => 1 << register.full_register().number(),
        false => 0,
    }
}

/// Accesses that the runtime was told of: of a function's variables a bit each, in the order in which it is told of them,
/// and a last one for all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told(u64);

impl Told {
    const ELSE: Told = Told(1 << 63);

    fn of_variable(number: usize) -> Told {
        if number < 63 { Told(1 << number) } else { Told::ELSE }
    }

    fn has(self, told: Told) -> bool {
        self.0 & told.0 != 0
    }
}

/// How many instructions may lie between those that name a variable and the call that tells of it.
const FROM_NAME: usize = 8;

/// What may be so before an instruction, on some path to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct May {
    /// Registers that point to what nobody else sees.
    own: Set,
    /// Registers that point to the place of the function's result, if the caller has named one.
    result: Set,
    /// What the runtime was told of since the last call of something else.
    told: Told,
}

impl May {
    fn or(self, other: May) -> May {
        May {
            own: Set(self.own.0 | other.own.0),
            result: Set(self.result.0 | other.result.0),
            told: Told(self.told.0 | other.told.0),
        }
    }
}

/// The constant that a register holds at a call, the last one of some instructions, if they tell: nobody comes in
/// between from elsewhere.
fn constant_at(before: &[(Instruction, Calls)], mut register: Register, targets: &HashSet<u64>) -> Option<u64> {
    let (call, rest) = before.split_last()?;
    if targets.contains(&call.0.ip()) {
        return None;
    }
    for (instruction, calls) in rest.iter().rev().take(FROM_NAME) {
        let sets = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == register;
        match instruction.mnemonic() {
            _ if *calls != Calls::Nothing || instruction.flow_control() != FlowControl::Next => return None,
            Mnemonic::Lea if sets && instruction.is_ip_rel_memory_operand() => {
                return Some(instruction.ip_rel_memory_address());
            }
            Mnemonic::Mov if sets && instruction.op1_kind() == OpKind::Register => {
                register = instruction.op1_register().full_register();
            }
            Mnemonic::Mov if sets && instruction.op1_kind() != OpKind::Memory => return Some(instruction.immediate(1)),
            _ if sets => return None,
            _ => {}
        }
        if targets.contains(&instruction.ip()) {
            return None;
        }
    }
    None
}

/// A function's instructions.
pub(super) type Body = Vec<(Instruction, Calls)>;

/// Whether a call, the last one of some instructions, passes a place in the frame, as far as they tell.
fn passes_frame(before: &[(Instruction, Calls)], targets: &HashSet<u64>, is_frame: &dyn Fn(Register) -> bool) -> bool {
    let mut register = Register::RDI;
    let Some(((call, _), rest)) = before.split_last() else {
        return false;
    };
    let mut next = call.ip();
    for (instruction, calls) in rest.iter().rev().take(FROM_NAME) {
        if targets.contains(&next) || *calls != Calls::Nothing || instruction.flow_control() != FlowControl::Next {
            return false;
        }
        next = instruction.ip();
        let sets = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == register;
        match instruction.mnemonic() {
            Mnemonic::Lea if sets => return is_frame(instruction.memory_base()),
            Mnemonic::Mov if sets && instruction.op1_kind() == OpKind::Register => {
                register = instruction.op1_register().full_register();
                if is_frame(register) {
                    return true;
                }
            }
            // The place of an array's entry.
            Mnemonic::Add if sets => {}
            _ if sets => return false,
            _ => {}
        }
    }
    false
}

/// What an instruction does to memory that it uses.
fn access(instruction: &Instruction, used: &UsedMemory) -> Access {
    let repeated = instruction.has_rep_prefix();
    let access = used.access();
    let by = match used.base() {
        Register::RSI if instruction.is_string_instruction() => By::Source { repeated },
        Register::RDI if instruction.is_string_instruction() => By::Destination { repeated },
        _ => By::Operand,
    };
    Access {
        by,
        locked: instruction.has_lock_prefix(),
        size: match by {
            By::Operand => used.memory_size().size(),
            // Of a repeated one it is not said.
            By::Source { .. } | By::Destination { .. } => instruction.memory_size().size(),
        },
        reads: matches!(
            access,
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        ),
        writes: matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        ),
    }
}

/// An access that the runtime is not told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unrecorded {
    /// The address of its instruction.
    pub(super) at: u64,
    pub(super) access: Access,
    /// No access is still to come that the runtime was told of before: it may be told of this one.
    pub(super) stands_alone: bool,
}

/// What was found of a function.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Accesses of what others may see.
    pub(super) unrecorded: Vec<Unrecorded>,
    /// Those by which it leaves its result where its caller wants it.
    pub(super) fills_result: Vec<Unrecorded>,
    /// The functions of this module that may leave their results for it in what others may see.
    pub(super) fills: Vec<u64>,
    /// Those that may do so where its caller wants its own result.
    pub(super) passes: Vec<u64>,
    /// It lets a library read what others may see.
    pub(super) lets_read: bool,
    /// It has instructions whose results do not depend on the program alone.
    pub(super) asks_machine: bool,
}

/// A function, as it is gone over.
pub(super) struct Function<'b> {
    body: &'b [(Instruction, Calls)],
    /// Where each instruction stands in the body.
    places: HashMap<u64, usize>,
    /// The addresses that branches lead to.
    targets: HashSet<u64>,
    has_frame_pointer: bool,
    /// Places in its frame where it keeps a pointer to what is its own, or to the place of its result.
    kept_own: HashSet<(Register, u64)>,
    kept_result: HashSet<(Register, u64)>,
    /// What the runtime is told of by name: variables, or parts of them, with their lengths; and of what each call tells it
    /// that may tell of other memory than the function's frame, by its place.
    variables: Vec<(u64, u64)>,
    tells: HashMap<usize, Told>,
    infos: InstructionInfoFactory,
    /// Whether there is a variable at an address that is not constant.
    may_change: &'b dyn Fn(u64) -> bool,
}

impl<'b> Function<'b> {
    pub(super) fn new(body: &'b [(Instruction, Calls)], may_change: &'b dyn Fn(u64) -> bool) -> Function<'b> {
        let is_set = |(instruction, _): &(Instruction, Calls)| {
            instruction.mnemonic() == Mnemonic::Mov
                && (instruction.op0_register(), instruction.op1_register()) == (Register::RBP, Register::RSP)
        };
        let has_frame_pointer = body.iter().any(is_set);
        let is_frame = |register| register == Register::RSP || (register == Register::RBP && has_frame_pointer);
        let targets: HashSet<u64> = body.iter().map(|(one, _)| one.near_branch_target()).collect();
        let mut variables = Vec::new();
        let mut tells = HashMap::new();
        for (place, (_, calls)) in body.iter().enumerate() {
            let Calls::Telling(length) = *calls else { continue };
            if passes_frame(&body[..=place], &targets, &is_frame) {
                continue;
            }
            let constant = |register| constant_at(&body[..=place], register, &targets);
            let length = match length {
                Length::Known(bytes) => Some(bytes),
                Length::In(register) => constant(register),
            };
            let told = match constant(Register::RDI).zip(length) {
                None => Told::ELSE,
                Some(variable) => {
                    let known = variables.iter().position(|&other| other == variable);
                    let number = known.unwrap_or(variables.len());
                    if number == variables.len() {
                        variables.push(variable);
                    }
                    Told::of_variable(number)
                }
            };
            tells.insert(place, told);
        }
        Function {
            body,
            targets,
            variables,
            tells,
            places: (0..).zip(body).map(|(place, (one, _))| (one.ip(), place)).collect(),
            has_frame_pointer,
            kept_own: HashSet::new(),
            kept_result: HashSet::new(),
            infos: InstructionInfoFactory::new(),
            may_change,
        }
    }

    /// Goes over the function until nothing more is learned, then over all that it accesses. What the runtime may have been
    /// told of counts as told; `by_address`, it has to be what it was told of in the same stretch of code, if it was told
    /// of nothing before that.
    pub(super) fn find(mut self, by_address: bool) -> Found {
        let mut before: Vec<Option<May>> = vec![None; self.body.len()];
        let entry = May {
            result: Set::of(&[Register::RDI]),
            ..May::default()
        };
        let anything = May {
            own: Set(u16::MAX),
            result: Set(u16::MAX),
            told: Told::ELSE,
        };
        let mut open = vec![(0, entry)];
        // Where nothing known leads to: a landing pad, or a case of a switch.
        let mut unreached = 0;
        loop {
            let Some((place, may)) = open.pop() else {
                let kept = (self.kept_own.len(), self.kept_result.len());
                // What fills up to where a loop begins is not executed, and leads into it.
                let is_code = |place: usize| self.body[place].0.mnemonic() != Mnemonic::Nop;
                match (unreached..self.body.len()).find(|&place| before[place].is_none() && is_code(place)) {
                    Some(place) => {
                        unreached = place + 1;
                        open.push((place, anything));
                        continue;
                    }
                    None => {
                        // What it keeps in its frame it may have kept before.
                        let all: Vec<(usize, May)> =
                            (0..).zip(&before).filter_map(|(at, &may)| Some((at, may?))).collect();
                        for (place, may) in all {
                            let next = self.follow(place, may);
                            open.extend(
                                next.into_iter()
                                    .filter(|&(to, may)| before[to].is_none_or(|old| old.or(may) != old)),
                            );
                        }
                        if open.is_empty() && kept == (self.kept_own.len(), self.kept_result.len()) {
                            break;
                        }
                        continue;
                    }
                }
            };
            let merged = before[place].map_or(may, |old| old.or(may));
            if before[place] != Some(merged) {
                before[place] = Some(merged);
                open.extend(self.follow(place, merged));
            }
        }
        self.judge(&before, by_address)
    }

    /// What may be so where an instruction leads.
    fn follow(&mut self, place: usize, may: May) -> Vec<(usize, May)> {
        let (instruction, calls) = &self.body[place];
        let after = self.after(place, instruction, *calls, may);
        let next = (place + 1 < self.body.len()).then_some(place + 1);
        let target = || self.places.get(&instruction.near_branch_target()).copied();
        let to = match instruction.flow_control() {
            FlowControl::UnconditionalBranch => [target(), None],
            FlowControl::ConditionalBranch => [target(), next],
            FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => [None, None],
            _ => [next, None],
        };
        to.into_iter().flatten().map(|to| (to, after)).collect()
    }

    /// Whether a register is one that points into the frame all along.
    fn is_frame(&self, register: Register) -> bool {
        register == Register::RSP || (register == Register::RBP && self.has_frame_pointer)
    }

    /// The place in the frame that an instruction accesses, if it accesses one by name.
    fn slot(&self, instruction: &Instruction) -> Option<(Register, u64)> {
        let is_slot = self.is_frame(instruction.memory_base()) && instruction.memory_index() == Register::None;
        is_slot.then(|| (instruction.memory_base(), instruction.memory_displacement64()))
    }

    fn after(&mut self, place: usize, instruction: &Instruction, calls: Calls, may: May) -> May {
        let mut after = may;
        if calls != Calls::Nothing {
            // What a function returns, it may have been given, or have made.
            let kept = Set::of(&KEPT).0;
            after.own.0 &= kept;
            after.result.0 &= kept;
            let of_runtime = matches!(calls, Calls::Telling(_) | Calls::Runtime);
            after.own.put(Register::RAX, !of_runtime);
            after.result.put(
                Register::RAX,
                matches!(calls, Calls::Other(_)) && may.result.has(Register::RDI),
            );
            match calls {
                // What it is told of the function's own frame is nothing of what others may see.
                Calls::Telling(_) => after.told.0 |= self.tells.get(&place).copied().unwrap_or_default().0,
                Calls::Other(_) | Calls::Reader(_) => after.told = Told::default(),
                Calls::Runtime | Calls::Operation | Calls::Nothing => {}
            }
            return after;
        }
        let is_move = instruction.mnemonic() == Mnemonic::Mov;
        let is_null = instruction.op_count() == 2 && instruction.op1_register() == instruction.op0_register();
        let constant = match instruction.mnemonic() {
            Mnemonic::Xor if is_null => Some(0),
            Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => Some(instruction.ip_rel_memory_address()),
            Mnemonic::Mov if instruction.op1_kind() != OpKind::Register && instruction.op1_kind() != OpKind::Memory => {
                Some(instruction.immediate(1))
            }
            _ => None,
        };
        if let Some(address) = constant.filter(|_| instruction.op0_kind() == OpKind::Register) {
            // Constants are for all, but nobody changes them.
            after.own.put(instruction.op0_register(), !(self.may_change)(address));
            after.result.put(instruction.op0_register(), false);
            return after;
        }
        let stores = is_move && instruction.op0_kind() == OpKind::Memory;
        let loads = is_move && instruction.op1_kind() == OpKind::Memory;
        let points = |register: Register| may.own.has(register) || self.is_frame(register.full_register());
        if stores {
            let from = instruction.op1_register();
            if let Some(slot) = self
                .slot(instruction)
                .filter(|_| instruction.op1_kind() == OpKind::Register)
            {
                let (own, result) = (points(from), may.result.has(from));
                if own {
                    self.kept_own.insert(slot);
                }
                if result {
                    self.kept_result.insert(slot);
                }
            }
            return after;
        }
        if loads {
            let to = instruction.op0_register();
            let slot = self.slot(instruction);
            after
                .own
                .put(to, slot.is_some_and(|slot| self.kept_own.contains(&slot)));
            after
                .result
                .put(to, slot.is_some_and(|slot| self.kept_result.contains(&slot)));
            return after;
        }
        // What a string instruction counts up still points where it did.
        if instruction.mnemonic() == Mnemonic::Push || instruction.is_string_instruction() {
            return after;
        }
        let info = self.infos.info(instruction);
        let mut read = (false, false);
        for used in info.used_registers() {
            if matches!(
                used.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            ) {
                let register = used.register().full_register();
                let is_frame = register == Register::RSP || (register == Register::RBP && self.has_frame_pointer);
                read.0 |= is_frame || may.own.has(register);
                read.1 |= may.result.has(register);
            }
        }
        for used in info.used_registers() {
            if matches!(
                used.access(),
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            ) {
                let is_conditional = matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite);
                let register = used.register();
                // A comparison is no pointer, nor is half of one.
                let is_pointer = register.is_gpr64() || register.is_gpr32();
                after.own.put(
                    register,
                    is_pointer && (read.0 || (is_conditional && may.own.has(register))),
                );
                after.result.put(
                    register,
                    is_pointer && (read.1 || (is_conditional && may.result.has(register))),
                );
            }
        }
        after
    }

    /// Whether what the runtime was told of may be an access: it is none of a variable, or of one that it was told of.
    fn may_be_told(&self, told: Told, used: &UsedMemory) -> bool {
        let is_named = matches!(used.base(), Register::None | Register::RIP) && used.index() == Register::None;
        let mut variables = self.variables.iter().enumerate();
        !is_named
            || told.has(Told::ELSE)
            || variables.any(|(number, &(variable, length))| {
                let distance = used.displacement().wrapping_sub(variable) as i64;
                let size = used.memory_size().size().max(1) as i64;
                told.has(Told::of_variable(number)) && distance < length as i64 && distance > -size
            })
    }

    /// Whether the runtime was told of what each instruction uses, by the place and the number of the use, where the
    /// addresses say so.
    fn told_by_address(&mut self, before: &[Option<May>]) -> HashMap<(usize, usize), bool> {
        let mut all = HashMap::new();
        let mut stretch = Stretch::new();
        for (place, may) in (0..).zip(before) {
            let goes_on = |last: usize| {
                use FlowControl::{Call, IndirectCall, Next};
                matches!(self.body[last].0.flow_control(), Next | Call | IndirectCall)
            };
            if self.is_target(place) || !place.checked_sub(1).is_some_and(goes_on) {
                stretch.begins(may.is_some_and(|may| may.told == Told::default()));
            }
            let (instruction, calls) = &self.body[place];
            if *calls == Calls::Nothing {
                let used = self.infos.info(instruction).used_memory();
                let told = (0..)
                    .zip(used)
                    .filter_map(|(number, used)| Some(((place, number), stretch.is_told(used)?)));
                all.extend(told);
            }
            stretch.pass(instruction, *calls);
        }
        all
    }

    /// Whether no access is still to come, where an instruction stands, that the runtime was told of: it is told right
    /// before, and those between the call and this one are done. What is the function's own does not matter. These are
    /// the places of the accesses of what others may see, and whether it was told of them.
    fn stands_alone(&self, place: usize, before: &[Option<May>], accesses: &HashMap<usize, bool>) -> bool {
        let may = |place: usize| before[place].unwrap_or_default();
        // What the runtime is told of before an atomic operation is done.
        if may(place).told == Told::default() || self.body[place].0.has_lock_prefix() {
            return true;
        }
        let tells_of_own = |at: usize| matches!(self.body[at].1, Calls::Telling(_)) && !self.tells.contains_key(&at);
        let mut behind_start = (0..=place).rev().take_while(|&at| !self.is_target(at));
        let Some(call) = behind_start.find(|&at| !self.goes_on(at) && !tells_of_own(at)) else {
            return false;
        };
        let is_told = |place: usize| accesses.get(&place) == Some(&true);
        let mut behind = (place + 1..self.body.len()).take_while(|&at| self.goes_on(at) && !self.is_target(at));
        match self.body[call].1 {
            Calls::Telling(_) => (call..place).any(is_told) && !behind.any(is_told),
            // What was told before it is done.
            Calls::Runtime | Calls::Other(_) | Calls::Reader(_) => true,
            Calls::Operation | Calls::Nothing => false,
        }
    }

    fn goes_on(&self, place: usize) -> bool {
        let (instruction, calls) = &self.body[place];
        *calls == Calls::Nothing && instruction.flow_control() == FlowControl::Next
    }

    fn is_target(&self, place: usize) -> bool {
        self.targets.contains(&self.body[place].0.ip())
    }

    fn judge(mut self, before: &[Option<May>], by_address: bool) -> Found {
        let mut found = Found::default();
        let mut returns_result = true;
        let mut returns = false;
        // Where it is told of one of its stores, the program makes it by a reference, and it is told of all of them.
        let tells_of_result = (0..).zip(before).any(|(place, may): (usize, _)| {
            let tells = matches!(self.body[place].1, Calls::Telling(_));
            tells && may.is_some_and(|may| may.result.has(Register::RDI))
        });
        // Where it accesses what others may see; whether the runtime was told.
        let mut accesses: HashMap<usize, bool> = HashMap::new();
        let mut unrecorded = Vec::new();
        let mut by_result = Vec::new();
        let told = if by_address {
            self.told_by_address(before)
        } else {
            HashMap::new()
        };
        for (place, may) in (0..).zip(before) {
            let (instruction, calls) = &self.body[place];
            let Some(may) = *may else { continue };
            match *calls {
                Calls::Other(target) => {
                    match (may.own.has(Register::RDI), may.result.has(Register::RDI)) {
                        (true, _) => {}
                        (false, true) => found.passes.extend(target),
                        (false, false) => found.fills.extend(target),
                    }
                    continue;
                }
                Calls::Reader(pointer) => {
                    found.lets_read |= !may.own.has(pointer);
                    continue;
                }
                Calls::Telling(_) | Calls::Runtime | Calls::Operation => continue,
                Calls::Nothing => {}
            }
            found.asks_machine |= ASKING.contains(&instruction.mnemonic());
            if instruction.flow_control() == FlowControl::Return {
                returns = true;
                returns_result &= may.result.has(Register::RAX);
            }
            // Of an atomic operation the runtime is told by another call, which performs it.
            let is_direct = DIRECT.contains(&instruction.mnemonic()) || (by_address && instruction.has_lock_prefix());
            if matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop)
                || instruction.flow_control() != FlowControl::Next
            {
                continue;
            }
            let has_frame_pointer = self.has_frame_pointer;
            for (number, used) in self.infos.info(instruction).used_memory().to_vec().iter().enumerate() {
                let is_told = || may.told != Told::default() && self.may_be_told(may.told, used);
                let is_told = !is_direct && told.get(&(place, number)).copied().unwrap_or_else(is_told);
                let one = (place, access(instruction, used));
                let whose = whose(used, may, has_frame_pointer, self.may_change);
                match whose {
                    Whose::Own => continue,
                    Whose::Result => by_result.push((one, is_told)),
                    Whose::Others if is_told => {}
                    Whose::Others => unrecorded.push(one),
                }
                *accesses.entry(place).or_default() |= is_told;
            }
        }
        let of_result = returns && returns_result;
        by_result.retain(|&(_, is_told)| !is_told || (of_result && !tells_of_result));
        let by_result: Vec<(usize, Access)> = by_result.into_iter().map(|(one, _)| one).collect();
        accesses.extend(by_result.iter().map(|&(place, ..)| (place, false)));
        let each = |those: Vec<(usize, Access)>| -> Vec<Unrecorded> {
            let each = those.into_iter().map(|(place, access)| Unrecorded {
                at: self.body[place].0.ip(),
                access,
                stands_alone: self.stands_alone(place, before, &accesses),
            });
            each.collect()
        };
        if of_result {
            found.fills_result = each(by_result);
        } else {
            // What it was called with is no place for a result.
            unrecorded.extend(by_result);
            found.fills.append(&mut found.passes);
        }
        found.unrecorded = each(unrecorded);
        found
    }
}

/// Whose the memory is that an instruction accesses.
enum Whose {
    Own,
    /// It is where the function's result goes, if it has one that goes somewhere.
    Result,
    Others,
}

fn whose(used: &UsedMemory, may: May, has_frame_pointer: bool, may_change: &dyn Fn(u64) -> bool) -> Whose {
    let registers = [used.base(), used.index()];
    let is_own = |&register: &Register| {
        let is_frame = register == Register::RSP || (register == Register::RBP && has_frame_pointer);
        is_frame || may.own.has(register)
    };
    // What an instruction says relative to itself is added already.
    let is_named = matches!(used.base(), Register::None | Register::RIP);
    if matches!(used.segment(), Register::FS | Register::GS)
        || registers.iter().any(is_own)
        || (is_named && !may_change(used.displacement()))
    {
        return Whose::Own;
    }
    match registers.iter().any(|&register| may.result.has(register)) {
        true => Whose::Result,
        false => Whose::Others,
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Calls, Found, Function};
    use crate::symbols::left_out::calls::Length;
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    /// What is found of a function whose calls tell the runtime of a byte.
    fn found(code: &[u8]) -> Found {
        let instructions = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).into_iter();
        let body: Body = instructions
            .map(|instruction| match instruction.mnemonic() {
                Mnemonic::Call => (instruction, Calls::Telling(Length::Known(1))),
                _ => (instruction, Calls::Nothing),
            })
            .collect();
        Function::new(&body, &|_| true).find(true)
    }

    #[test]
    fn an_access_is_not_told_again_where_its_address_may_come_from_the_frame() {
        let found = found(
            b"\x48\x83\xec\x28\x85\xf6\x74\x0c\x48\x8d\x44\x24\x10\x48\x89\x44\x24\x08\xeb\x09\
              \x48\x8d\x4b\x6c\x48\x89\x4c\x24\x08\x48\x8b\x7c\x24\x08\xe8\x00\x00\x00\x00\x88\x43\x6c\
              \x48\x83\xc4\x28\xc3",
        );
        // sub $0x28,%rsp; test %esi,%esi; je 1f; lea 0x10(%rsp),%rax; mov %rax,0x8(%rsp); jmp 2f;
        // 1: lea 0x6c(%rbx),%rcx; mov %rcx,0x8(%rsp); 2: mov 0x8(%rsp),%rdi; call; mov %al,0x6c(%rbx); add; ret
        assert!(found.unrecorded.iter().all(|one| !one.stands_alone), "{found:?}");
    }

    #[test]
    fn what_is_told_of_the_frame_says_nothing_of_what_others_see() {
        // lea 0x10(%rsp),%rdi; call; mov %al,0x10(%rsp); mov %rdx,0x70(%rbx); ret
        let found = found(b"\x48\x8d\x7c\x24\x10\xe8\x00\x00\x00\x00\x88\x44\x24\x10\x48\x89\x53\x70\xc3");
        let [one] = &*found.unrecorded else {
            panic!("{found:?}");
        };
        assert!(
            one.stands_alone && one.access.writes && one.access.size == 8,
            "{found:?}"
        );
    }
}
