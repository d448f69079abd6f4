//! Where the threads of a trace may have called code that was not recorded, and whether that code may synchronize.
//!
//! A library counts as unrecorded if it is not instrumented and the runtime replaces none of its functions. It may
//! synchronize if it has atomic instructions, or calls the kernel's futex. The modules' files tell which functions
//! call it ([`calls`]); what a program calls whose own file is gone or was rebuilt is not known, and a library that is
//! gone may synchronize. A call through a pointer leads where one of the pointers to code leads that its thread read
//! in the same function shortly before; if it read none, the call may lead to any library that may synchronize.
//!
//! A library without any such instruction may still take locks. These are recorded, but not what it finds under them:
//! by that it may order threads, or decide whether one waits.
//!
//! This errs on both sides: a call in a function need not have been made between two events of it. No refutation rests
//! on this: it names the code that may have changed memory, and keeps a race from being reported as proven until a live
//! run shows it.

use super::called_back::{CalledBack, Suspected, either};
use super::calls::{Linkage, Target, announcements, calls, linkage, mentions};
use super::carriers::{Carries, carries};
use super::uninstrumented::Passing;
use super::{file_name, read_file};
use crate::trace::{AccessKind, CodePosition, EventId, ObjectId, Op, Tables, ThreadId, Trace};
use columns::Excerpt;
use hashbrown::{HashMap, HashSet};
use object::Object;

/// What comes with the system, orders nothing for the program, and has functions that the runtime leaves alone.
const OF_THE_SYSTEM: [&str; 4] = ["ld-linux", "libgcc_s.", "libm.", "linux-vdso"];

/// Libraries of which it is known what they do, also if their files are gone.
const KNOWN: [&str; 7] = [
    "libc.",
    "libdl.",
    "libgomp.",
    "libpthread.",
    "librt.",
    "libstdc++.",
    "libtsan.",
];

/// At so many places a library has accesses that was recorded; at fewer, others call the system, which is recorded
/// whoever calls.
const PLACES: usize = 64;

/// What a library calls that takes locks, or waits with them.
const LOCKS: [&str; 8] = [
    "mtx_lock",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
];

/// Events that are looked at before a pinned access for the access before it.
const SEARCHED: usize = 100_000;

/// Calls that are named at most.
const NAMED: usize = 3;

/// Calls of a thread among which those are chosen.
const CONSIDERED: usize = 30;

/// A call that may leave what is recorded, by run-time addresses.
#[derive(Clone, Debug)]
struct Site {
    at: CodePosition,
    within: (CodePosition, CodePosition),
    target: Target,
    /// The module that has the target; of a pointer, the one that has the call.
    library: usize,
    /// What is known to be carried by what is called, if that is a function of a library.
    carries: Carries,
}

/// Events before a call through a pointer that are looked at for the pointer.
const POINTER_READ: usize = 8;

/// The calls of unrecorded code in a trace's modules.
pub struct UnrecordedCalls {
    /// By `at`.
    sites: Vec<Site>,
    /// The functions that have some, by address.
    functions: Vec<(CodePosition, CodePosition)>,
    /// Where the program comes back to from telling of locks of its own.
    announced: HashSet<CodePosition>,
    /// The functions of instrumented modules that are not instrumented and may synchronize, by address: the first byte,
    /// the first behind it, and what they may do.
    uninstrumented: Vec<(CodePosition, CodePosition, Suspected)>,
    /// By module.
    instrumented: Vec<bool>,
    /// By module: unrecorded, and may synchronize.
    synchronizes: Vec<bool>,
    /// By module: its file is another one by now.
    gone: Vec<bool>,
    /// By module: unrecorded, and takes locks, which are recorded, but not what it does under them.
    locks: Vec<bool>,
    /// By module: it synchronizes, and pointers to its code may be somewhere.
    pointed_to: Vec<bool>,
    /// By module: its path.
    paths: Vec<String>,
    /// By module: its code, at run time.
    ranges: Vec<(CodePosition, CodePosition)>,
    /// By module: not all of it is instrumented, for want of the compiler's flags.
    lacks_flags: Vec<bool>,
}

/// What may have changed memory unrecorded.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    /// `fill of liblib.so`: what was called. The first few.
    pub calls: Vec<String>,
    /// The module itself, if not all of it is instrumented, for want of the compiler's flags.
    pub lacks_flags: Option<String>,
}

impl UnrecordedCalls {
    /// Reads the modules of a trace.
    #[must_use]
    pub fn of(tables: &Tables) -> UnrecordedCalls {
        let modules = &tables.modules;
        let files: Vec<Vec<u8>> = modules
            .iter()
            .map(|module| {
                let bytes = read_file(&module.path).unwrap_or_default();
                let same = object::File::parse(&*bytes)
                    .is_ok_and(|file| file.build_id().ok().flatten().unwrap_or_default() == module.build_id);
                if same { bytes } else { Vec::new() }
            })
            .collect();
        let linkages: Vec<Linkage> = files.iter().map(|bytes| linkage(bytes).unwrap_or_default()).collect();
        let mut definer: HashMap<&str, usize> = HashMap::new();
        for (row, linkage) in linkages.iter().enumerate() {
            for name in &linkage.exports {
                definer.entry(name).or_insert(row);
            }
        }
        let replaced: HashSet<&str> = linkages
            .iter()
            .filter(|linkage| linkage.runtime)
            .flat_map(|linkage| linkage.exports.iter().map(String::as_str))
            .collect();
        let recorded = |row: usize| linkages[row].instrumented || linkages[row].runtime;
        let is_strange = |row: usize| {
            let name = file_name(&modules[row].path);
            !recorded(row)
                && !OF_THE_SYSTEM.iter().any(|known| name.starts_with(known))
                && !linkages[row]
                    .exports
                    .iter()
                    .any(|name| replaced.contains(name.as_str()))
        };
        let strange: Vec<bool> = (0..modules.len()).map(is_strange).collect();
        // What a library is like whose file is another one by now, nothing tells; nor what it is called by. (The first
        // module is the program.)
        let is_gone = |row: usize| {
            let (path, name) = (&modules[row].path, file_name(&modules[row].path));
            let is_known = KNOWN.iter().any(|known| name.starts_with(known));
            row > 0 && strange[row] && files[row].is_empty() && path.starts_with('/') && !is_known
        };
        let gone: Vec<bool> = (0..modules.len()).map(is_gone).collect();
        let all = strange.iter().zip(&linkages).zip(&gone);
        let synchronizes = all.map(|((&strange, linkage), &gone)| strange && linkage.atomics || gone);
        let synchronizes: Vec<bool> = synchronizes.collect();
        let first_gone = gone.iter().position(|&gone| gone);
        let definer_of = |name: &str| definer.get(name).copied().or(first_gone);
        let takes_locks = |name: &String| LOCKS.contains(&name.as_str());
        let all = strange.iter().zip(&linkages);
        let locks = all.map(|(&strange, linkage)| strange && linkage.imports.iter().any(takes_locks));
        let locks: Vec<bool> = locks.collect();
        // A pointer leads where somebody took it from: by linking; or by name, which stands in the module that asks for
        // it, unless the library was opened while the program ran (names for those are often put together).
        let by_name = |row: usize| {
            let mut imports = linkages[row].imports.iter();
            !linkages[row].runtime && imports.any(|name| name == "dlsym" || name == "dlvsym")
        };
        let askers: Vec<usize> = (0..linkages.len()).filter(|&row| by_name(row)).collect();
        let needed: HashSet<&str> = linkages
            .iter()
            .flat_map(|linkage| linkage.needed.iter().map(|name| file_name(name)))
            .collect();
        let asked_for = |library: usize| {
            let name = linkages[library].soname.as_deref();
            let name = name.unwrap_or_else(|| file_name(&modules[library].path));
            let mut askers = askers.iter().filter(|&&row| row != library);
            askers.any(|&row| !needed.contains(name) || mentions(&files[row], &linkages[library].exports))
        };
        let taken: HashSet<usize> = (0..linkages.len())
            .flat_map(|row| linkages[row].imports.iter().map(move |name| (row, name)))
            .filter_map(|(row, name)| definer.get(name.as_str()).copied().filter(|&library| library != row))
            .collect();
        let pointed_to = (0..modules.len()).map(|row| synchronizes[row] && (taken.contains(&row) || asked_for(row)));
        let pointed_to: Vec<bool> = pointed_to.collect();
        let pointers = pointed_to.contains(&true);
        let mut sites = Vec::new();
        let mut announced = HashSet::new();
        let mut uninstrumented = Vec::new();
        for (row, bytes) in files
            .iter()
            .enumerate()
            .filter(|&(row, _)| linkages[row].instrumented && !linkages[row].runtime)
        {
            let base = modules[row].base;
            let wanted = |name: &str| definer_of(name).filter(|&library| !recorded(library));
            let calls = calls(bytes, &wanted, pointers);
            let functions = calls.uninstrumented.into_iter().filter_map(|((start, end), targets)| {
                let may = targets.iter().map(|target| match target {
                    Target::Function(name) => {
                        let library = definer_of(name)?;
                        synchronizes[library].then_some((library, Passing::BOTH))
                    }
                    Target::Here(passing) => Some((row, *passing)),
                    Target::Pointer => None,
                });
                let may = may.fold(None, either)?;
                Some((start.wrapping_add(base), end.wrapping_add(base), may))
            });
            uninstrumented.extend(functions);
            let is_taken = |start: &str| {
                let taken = linkages.iter().flat_map(|linkage| &linkage.imports);
                taken.into_iter().any(|name| name.starts_with(start))
            };
            let found = calls.list.into_iter().map(|call| {
                let (library, carries) = match &call.target {
                    Target::Function(name) => {
                        let library = definer_of(name).unwrap_or(row);
                        let carries = match synchronizes[library] {
                            true => Carries::Always(Passing::BOTH),
                            false => carries(&modules[library].path, name, &is_taken),
                        };
                        (library, carries)
                    }
                    Target::Here(passing) => (row, Carries::Always(*passing)),
                    Target::Pointer => (row, Carries::Nothing),
                };
                Site {
                    at: call.at.wrapping_add(base),
                    within: (call.within.0.wrapping_add(base), call.within.1.wrapping_add(base)),
                    library,
                    carries,
                    target: call.target,
                }
            });
            sites.extend(found);
            announced.extend(announcements(bytes).into_iter().map(|at| at.wrapping_add(base)));
        }
        sites.sort_by_key(|site| site.at);
        uninstrumented.sort_unstable();
        let mut functions: Vec<(CodePosition, CodePosition)> = sites.iter().map(|site| site.within).collect();
        functions.sort_unstable();
        functions.dedup();
        UnrecordedCalls {
            sites,
            functions,
            announced,
            uninstrumented,
            instrumented: linkages.iter().map(|linkage| linkage.instrumented).collect(),
            synchronizes,
            gone,
            locks,
            pointed_to,
            paths: modules.iter().map(|module| module.path.clone()).collect(),
            ranges: modules.iter().map(|module| (module.start, module.end)).collect(),
            lacks_flags: linkages.iter().map(|linkage| linkage.lacks_flags).collect(),
        }
    }

    /// As [`of`](Self::of), of a whole trace: it shows which of the modules whose files are others by now were
    /// recorded.
    #[must_use]
    pub fn in_trace(trace: &Trace) -> UnrecordedCalls {
        let mut calls = UnrecordedCalls::of(trace.tables());
        if !calls.gone.contains(&true) {
            return calls;
        }
        let plain = trace
            .accesses()
            .filter(|access| matches!(access.kind, AccessKind::Read | AccessKind::Write));
        let places: HashSet<CodePosition> = plain.map(|access| trace.pc(access.event)).collect();
        let mut by_module: HashMap<usize, usize> = HashMap::new();
        for row in places.into_iter().filter_map(|pc| calls.module_at(pc)) {
            *by_module.entry(row).or_default() += 1;
        }
        for (row, _) in by_module.into_iter().filter(|&(_, places)| places >= PLACES) {
            if calls.gone[row] {
                (calls.synchronizes[row], calls.pointed_to[row]) = (false, false);
                let own = calls.sites.iter_mut().filter(|site| site.library == row);
                own.for_each(|site| site.carries = Carries::Nothing);
            }
        }
        calls
    }

    /// What may have changed what a pinned access saw: the calls that threads may have made since the access of the same
    /// memory before it, and the code around it.
    #[must_use]
    pub fn before_pinned(&self, trace: &Trace, access: EventId) -> Suspects {
        let within = self.module_at(trace.pc(access)).filter(|&row| self.lacks_flags[row]);
        Suspects {
            calls: self.calls_before(trace, access),
            lacks_flags: within.map(|row| file_name(&self.paths[row]).to_owned()),
        }
    }

    fn calls_before(&self, trace: &Trace, access: EventId) -> Vec<String> {
        let Some(used) = trace.cell_uses(access).find(|used| trace.cell(used.cell).external()) else {
            return Vec::new();
        };
        let until = trace.pin(access).map_or(access, |pin| pin.from);
        let alloc = trace.incarnation(trace.cell(used.cell).incarnation).alloc;
        let earlier = (0..until.0).rev().take(SEARCHED).map(EventId);
        let from = earlier
            .filter(|&other| matches!(trace.op(other), Op::Access))
            .find(|&other| trace.cell_uses(other).any(|other| other.cell == used.cell))
            .or(alloc)
            .unwrap_or(EventId(0));
        // By how well they are known to change what others see: assembly, other libraries, the C library.
        let mut named: Vec<(u8, Option<&str>, &str)> = Vec::new();
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            let order = trace.program_order(thread);
            let first = order.partition_point(|event| event <= from).saturating_sub(1);
            let behind = order.partition_point(|event| event < until);
            for at in first..=behind {
                let (before, after) = (order.get(at), order.get(at + 1));
                for site in self.between(trace, before, after) {
                    let library = file_name(&self.paths[site.library]);
                    let known = match &site.target {
                        Target::Function(function) => {
                            let rank = if library.starts_with("libc.") { 2 } else { 1 };
                            (rank, Some(function.as_str()), library)
                        }
                        Target::Here(_) => (0, None, library),
                        Target::Pointer => continue,
                    };
                    if !named.contains(&known) {
                        named.push(known);
                    }
                }
                if named.len() > CONSIDERED || at > first + SEARCHED {
                    break;
                }
            }
        }
        named.sort_by_key(|&(rank, ..)| rank);
        let name = |&(_, function, library): &(u8, Option<&str>, &str)| match function {
            Some(function) => format!("{function} of {library}"),
            None => format!("assembly in {library}"),
        };
        named.iter().take(NAMED).map(name).collect()
    }

    /// The calls that a thread may have made between two of its events that follow each other.
    fn between(&self, trace: &Trace, before: Option<EventId>, after: Option<EventId>) -> impl Iterator<Item = &Site> {
        let pc = |event: Option<EventId>| event.map_or(0, |event| trace.pc(event));
        let (first, last) = (pc(before), pc(after));
        let (here, there) = (self.sites_beside(first), self.sites_beside(last));
        let same = here.as_ptr() == there.as_ptr() && !here.is_empty();
        // Forwards; or around a loop, anywhere in it.
        let passed = move |site: &&Site| match same {
            true => first >= last || (first <= site.at && site.at < last),
            false => first <= site.at,
        };
        let behind = there.iter().filter(move |site| !same && site.at < last);
        here.iter().filter(passed).chain(behind)
    }

    /// The calls in the function that a position lies in.
    fn sites_beside(&self, pc: CodePosition) -> &[Site] {
        let below = self.functions.partition_point(|&(start, _)| start < pc);
        match self.functions[..below].last() {
            Some(&(start, end)) if pc <= end => {
                let from = self.sites.partition_point(|site| site.at < start);
                let until = self.sites.partition_point(|site| site.at < end);
                &self.sites[from..until]
            }
            _ => &[],
        }
    }

    /// Whether any code may synchronize where nobody sees it.
    #[must_use]
    pub fn may_synchronize(&self) -> bool {
        self.synchronizes.contains(&true)
            || !self.uninstrumented.is_empty()
            || self.sites.iter().any(|site| matches!(site.target, Target::Here(_)))
    }

    /// Whether any code may pass something on between threads where nobody sees it.
    #[must_use]
    pub fn may_carry(&self) -> bool {
        self.may_synchronize()
            || self.locks.contains(&true)
            || self.sites.iter().any(|site| site.carries != Carries::Nothing)
    }

    /// The code that may synchronize unseen between an event, the `at`-th of its thread, and the next; and the library
    /// that may carry something there if its callers hold a lock.
    fn hidden_behind(
        &self,
        trace: &Trace,
        order: &Excerpt<'_, EventId>,
        at: usize,
    ) -> (Option<Suspected>, Option<usize>) {
        let (before, after) = (order.get(at), order.get(at + 1));
        // The lock's own code stands directly before what announces that it is taken, and directly behind what
        // announces that it is given back.
        let announced = |event: Option<EventId>| event.filter(|&event| self.announced.contains(&trace.pc(event)));
        let taken =
            announced(after).filter(|&event| matches!(trace.op(event), Op::Acquire { .. } | Op::AcquireShared { .. }));
        let given_back = announced(before).filter(|&event| matches!(trace.op(event), Op::Release { .. }));
        let sites = || self.between(trace, before, after);
        let of_taken = taken.and_then(|_| sites().last()).map(|site| site.at);
        let of_given_back = given_back.and_then(|_| sites().next()).map(|site| site.at);
        let others = sites().filter(|site| Some(site.at) != of_taken && Some(site.at) != of_given_back);
        let (mut found, mut under_lock) = (None, None);
        for site in others {
            let passing = match (&site.target, site.carries) {
                (Target::Pointer, _) => {
                    let library = self.pointed_to(trace, order.until(at + 1), site);
                    library.map(|library| (library, Passing::BOTH))
                }
                (_, Carries::Always(passing)) => Some((site.library, passing)),
                (_, Carries::UnderLock) => {
                    under_lock = under_lock.or(Some(site.library));
                    None
                }
                (_, Carries::Nothing) => None,
            };
            found = either(found, passing);
        }
        (found, under_lock)
    }

    /// The library that a call through a pointer may lead to, if that may synchronize.
    fn pointed_to(&self, trace: &Trace, before: Excerpt<'_, EventId>, call: &Site) -> Option<usize> {
        let mut elsewhere = false;
        let (start, end) = call.within;
        let recent = before.rev().take(POINTER_READ);
        for event in recent.take_while(|&event| start < trace.pc(event) && trace.pc(event) <= end) {
            let numbers = trace.access(event).into_iter().flat_map(|access| trace.numbers(access));
            for used in numbers.filter(|used| trace.cell(used.cell).size == 8) {
                match self.module_at(used.read) {
                    Some(row) if self.synchronizes[row] => return Some(row),
                    found => elsewhere |= found.is_some(),
                }
            }
        }
        if elsewhere {
            return None;
        }
        self.pointed_to.iter().position(|&pointed_to| pointed_to)
    }

    /// What unrecorded code at a position may do, if it may synchronize.
    fn suspected(&self, pc: CodePosition) -> Option<Suspected> {
        let below = self.uninstrumented.partition_point(|&(start, ..)| start <= pc);
        let own = self.uninstrumented[..below].last().filter(|&&(_, end, _)| pc < end);
        let library = || self.module_at(pc).filter(|&row| self.synchronizes[row]);
        own.map(|&(.., suspected)| suspected)
            .or_else(|| library().map(|row| (row, Passing::BOTH)))
    }

    fn module_at(&self, pc: CodePosition) -> Option<usize> {
        self.ranges.iter().position(|&(start, end)| start <= pc && pc < end)
    }

    /// Whether a module is instrumented: then only parts of it are not recorded.
    #[must_use]
    pub fn is_recorded(&self, row: usize) -> bool {
        self.instrumented[row]
    }

    /// Where threads may have synchronized in unrecorded code.
    #[must_use]
    pub fn hidden_synchronization(&self, trace: &Trace) -> HiddenStretches {
        let library_at = |pc: CodePosition| self.module_at(pc).filter(|&row| self.synchronizes[row]);
        // Threads that such a library created run its code between what they call back.
        let mut owner: HashMap<ThreadId, usize> = HashMap::new();
        for event in trace.events() {
            if let Op::Fork { child } = trace.op(event)
                && let Some(library) = library_at(trace.pc(event))
            {
                owner.insert(child, library);
            }
        }
        // What lies between two code positions is the same each time, unless a pointer tells.
        let mut known: HashMap<(CodePosition, CodePosition), (Option<Suspected>, Option<usize>)> = HashMap::new();
        let mut hidden = HiddenStretches {
            by_thread: vec![Vec::new(); trace.threads()],
            under: HashMap::new(),
        };
        let called_back = CalledBack::of(trace.tables(), &|call_site| self.suspected(call_site));
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            let order = trace.program_order(thread);
            let of_library = owner.get(&thread).map(|&library| (library, Passing::BOTH));
            let mut held: Vec<ObjectId> = Vec::new();
            for (at, (from, until)) in order.clone().zip(order.clone().skip(1)).enumerate() {
                match trace.op(from) {
                    Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => held.push(lock),
                    Op::Release { lock } => {
                        let last = held.iter().rposition(|&other| other == lock);
                        last.map(|last| held.remove(last));
                    }
                    _ => {}
                }
                // Nothing runs while a thread waits.
                if matches!(trace.op(from), Op::WaitBegin { .. }) {
                    continue;
                }
                let mut called = || {
                    let key = (trace.pc(from), trace.pc(until));
                    if let Some(&found) = known.get(&key) {
                        return found;
                    }
                    let (called, under_lock) = self.hidden_behind(trace, &order, at);
                    let found = (
                        either(called, self.suspected(trace.pc(from))),
                        under_lock.or_else(|| self.with_locks(trace.pc(from))),
                    );
                    let mut between = self.between(trace, Some(from), Some(until));
                    if !between.any(|site| site.target == Target::Pointer) {
                        known.insert(key, found);
                    }
                    found
                };
                let place = |event| (trace.pc(event), trace.stack(event));
                let (synchronized, under_lock) = match of_library {
                    Some(_) => (of_library, None),
                    None => {
                        let calls = called_back.as_ref();
                        let back = calls.and_then(|calls| calls.between(place(from), place(until)));
                        let (called, under_lock) = called();
                        (either(called, back), under_lock)
                    }
                };
                let stretch = |(library, passing): Suspected| Hidden {
                    from,
                    until,
                    library,
                    passing,
                };
                hidden.by_thread[thread.index()].extend(synchronized.map(stretch));
                if let Some(library) = under_lock {
                    for &lock in &held {
                        let under = hidden.under.entry(lock);
                        let by_thread = under.or_insert_with(|| vec![Vec::new(); trace.threads()]);
                        by_thread[thread.index()].push(stretch((library, Passing::BOTH)));
                    }
                }
            }
        }
        hidden
    }

    /// The library that a position lies in, if that is not recorded and takes locks.
    fn with_locks(&self, pc: CodePosition) -> Option<usize> {
        self.module_at(pc).filter(|&row| self.locks[row])
    }

    /// The file name of a library.
    #[must_use]
    pub fn library(&self, row: usize) -> &str {
        file_name(&self.paths[row])
    }
}

/// A stretch between two events of a thread in which it may have synchronized unseen.
#[derive(Clone, Copy, Debug)]
struct Hidden {
    /// The event before.
    from: EventId,
    /// The event behind.
    until: EventId,
    /// The module that it may have called.
    library: usize,
    /// What that may have done.
    passing: Passing,
}

/// The stretches in which threads may have synchronized unseen.
#[derive(Clone, Debug, Default)]
pub struct HiddenStretches {
    /// By thread, in its order.
    by_thread: Vec<Vec<Hidden>>,
    /// By lock that the thread holds: those that count only beside others under the same lock.
    under: HashMap<ObjectId, Vec<Vec<Hidden>>>,
}

impl HiddenStretches {
    /// The library whose unseen synchronization may order two accesses in π: the thread of the first calls what may tell
    /// of it after the access, then that of the second what may learn of it, before its own. (What passes through third
    /// threads is not looked for.)
    #[must_use]
    pub fn between(&self, trace: &Trace, a: EventId, b: EventId) -> Option<usize> {
        let (first, second) = (a.min(b), a.max(b));
        let among = |stretches: &[Vec<Hidden>]| {
            let own = &stretches[trace.thread(first).index()];
            let own = &own[own.partition_point(|stretch| stretch.from < first)..];
            let after = own.iter().find(|stretch| stretch.passing.tells)?;
            let others = &stretches[trace.thread(second).index()];
            let others = &others[..others.partition_point(|stretch| stretch.until <= second)];
            let before = others.iter().rev().find(|stretch| stretch.passing.learns)?;
            (after.from < before.until).then_some(before.library)
        };
        among(&self.by_thread).or_else(|| {
            // The least, so that it is the same each time.
            let under = self
                .under
                .iter()
                .filter_map(|(lock, stretches)| Some((lock, among(stretches)?)));
            under.min_by_key(|(lock, _)| lock.0).map(|(_, library)| library)
        })
    }

    /// The library that may have decided, unseen, whether a thread waits for a condition: what it called since it took
    /// the lock may have learned something there. Nothing of other operations.
    #[must_use]
    pub fn decides_on(&self, trace: &Trace, wait: EventId) -> Option<usize> {
        let (Op::WaitBegin { lock, .. } | Op::WaitEnd { lock, .. }) = trace.op(wait) else {
            return None;
        };
        let thread = trace.thread(wait);
        let order = trace.program_order(thread);
        let mut before = order.until(order.partition_point(|event| event < wait)).rev();
        let begin = match trace.op(wait) {
            Op::WaitEnd { .. } => before.next()?,
            _ => wait,
        };
        let took = |&event: &EventId| match trace.op(event) {
            Op::Acquire { lock: taken, .. } | Op::WaitEnd { lock: taken, .. } => taken == lock,
            _ => false,
        };
        let since = before.find(took)?;
        let learns = |stretches: &[Vec<Hidden>]| {
            let own = &stretches[thread.index()];
            let own = &own[own.partition_point(|stretch| stretch.from < since)..];
            let mut own = own.iter().take_while(|stretch| stretch.until <= begin);
            own.find(|stretch| stretch.passing.learns)
                .map(|stretch| stretch.library)
        };
        learns(&self.by_thread).or_else(|| {
            let under = self.under.get(&lock)?;
            let mut others = under.iter().enumerate().filter(|&(other, _)| other != thread.index());
            others
                .any(|(_, stretches)| !stretches.is_empty())
                .then(|| learns(under))?
        })
    }
}
