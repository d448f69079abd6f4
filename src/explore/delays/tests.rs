use super::*;
use trace_format::{MemRange, ObjectInfo, ObjectKind, ProgramEnd, ThreadInfo, TraceWriter, WaitOutcome, WriterOptions};

const M: ObjectId = ObjectId(0);
const CONDITION: ObjectId = ObjectId(1);

/// A trace of a thread that creates two others, of the events that are told.
struct Making {
    events: Vec<(u32, u64, Op)>,
}

impl Making {
    fn new() -> Making {
        let mut making = Making { events: Vec::new() };
        making.add(0, 1, Op::Begin);
        for child in [1, 2] {
            making.add(0, 2, Op::Fork { child: ThreadId(child) });
        }
        making
    }

    fn add(&mut self, thread: u32, position: u64, op: Op) -> &mut Making {
        self.events.push((thread, position, op));
        self
    }

    /// A critical section, in which memory is written at the position behind the lock's.
    fn section(&mut self, thread: u32, position: u64) -> &mut Making {
        let mem = MemRange { addr: 0x1000, size: 4 };
        let attempt = false;
        self.add(thread, position, Op::Acquire { lock: M, attempt })
            .add(thread, position + 1, Op::Write { mem, value: 7 })
            .add(thread, position + 2, Op::Release { lock: M })
    }

    fn file(&self) -> TraceFile {
        TraceFile::from_bytes("memory", self.bytes()).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &WriterOptions::default()).unwrap();
        for parent in [None, Some(ThreadId(0)), Some(ThreadId(0))] {
            let (name, os_id) = (None, 0);
            writer.define_thread(ThreadInfo { name, parent, os_id });
        }
        for (addr, kind) in [(0x2000, ObjectKind::Mutex), (0x2040, ObjectKind::Condition)] {
            let (name, initial) = (None, 0);
            writer.define_object(ObjectInfo {
                kind,
                addr,
                name,
                initial,
            });
        }
        for &(thread, position, op) in &self.events {
            writer.event(ThreadId(thread), position, op).unwrap();
        }
        writer.finish_sink(ProgramEnd::Exited(0)).unwrap().1
    }

    fn delays(&self, prefers: &dyn Fn(u64) -> bool) -> Delays {
        Delays::of(self.file(), Some(prefers), &mut HashSet::new()).unwrap()
    }

    /// Where the threads are in the orders that are tried, in their order: the position of the one that stands still,
    /// and of the one that goes first.
    fn tried(&self, prefers: &dyn Fn(u64) -> bool) -> Vec<(u64, u64)> {
        let mut delays = self.delays(prefers);
        let position = |event: EventId| self.events[event.0 as usize].1;
        let count = delays.all.len();
        std::iter::from_fn(|| delays.next())
            .take(count)
            .map(|delay| (position(delay.stop), position(delay.first)))
            .collect()
    }
}

/// Both threads do much in turn of one another, and something else once in the middle.
fn once_in_the_middle() -> Making {
    let mut making = Making::new();
    for (thread, position) in [(1, 20), (2, 30)] {
        for round in 0..400 {
            making.section(thread, 10);
            if round == 200 {
                making.section(thread, position);
                // So many that nothing usual is near.
                for place in 0..2 * LOOKED_AT {
                    let addr = 0x10_0000 * u64::from(thread) + 4 * place;
                    let mem = MemRange { addr, size: 4 };
                    making.add(thread, 90, Op::Write { mem, value: 1 });
                }
            }
        }
    }
    making
}

#[test]
fn what_is_done_once_in_the_middle_comes_first() {
    let making = once_in_the_middle();
    let tried = making.tried(&|_| false);
    assert_eq!(tried[..2], [(20, 30); 2]);
    // Then with one of them, then what is done all the time.
    assert_eq!(tried[2..5].iter().collect::<HashSet<_>>().len(), 3, "{:?}", &tried[..8]);
    assert!(tried[4] == (10, 10), "{:?}", &tried[..8]);
    assert_eq!(making.delays(&|_| false).promising(), TRIES);
}

#[test]
fn places_that_come_first_do_so_however_often_a_run_is_there() {
    let making = once_in_the_middle();
    // The write in the usual section.
    let tried = making.tried(&|position| position == 11);
    let (stop, first) = tried[0];
    assert!(stop == 10 || first == 10, "{:?}", &tried[..4]);
}

#[test]
fn the_thread_that_stands_still_does_nothing_more_and_the_other_one_comes_to_the_end_of_its_section() {
    let making = once_in_the_middle();
    let mut delays = making.delays(&|_| false);
    let delay = delays.next().unwrap();
    let steps = delays.steps(delay).unwrap();
    let position = |row: usize| making.events[row].1;
    let stop = making.events.iter().position(|event| event.1 == 20).unwrap();
    let end = making.events.iter().position(|event| event.1 == 32).unwrap();
    let second = (stop..=end).filter(|&row| making.events[row].0 == 2).count();
    assert_eq!(steps.len(), stop + second, "to {}", position(stop));
    // The next time at these places the first one goes on then.
    let again = std::iter::from_fn(|| delays.next())
        .find(|next| next.places == delay.places)
        .unwrap();
    assert_eq!((again.stop, again.first), (delay.stop, delay.first));
    let further = delays.steps(again).unwrap();
    assert_eq!(further[..steps.len()], steps);
    assert_eq!(further.len(), steps.len() + LOOKED_AT as usize);
}

#[test]
fn what_a_thread_creates_does_not_come_before_its_creation() {
    let mut making = Making { events: Vec::new() };
    making.add(0, 1, Op::Begin).section(0, 10);
    making.add(0, 2, Op::Fork { child: ThreadId(1) }).section(1, 20);
    assert_eq!(making.tried(&|_| false), []);
    making.section(0, 30).section(1, 40);
    // The thread that is created may wait for the one that creates it.
    assert_eq!(making.tried(&|_| false), [(20, 30), (30, 40)]);
}

#[test]
fn a_wait_gives_its_lock_back_and_is_woken_as_it_was() {
    let mut making = Making::new();
    let (lock, condition, attempt) = (M, CONDITION, false);
    making.add(1, 10, Op::Acquire { lock, attempt });
    making.add(1, 11, Op::WaitBegin { condition, lock }).section(2, 20);
    making.add(2, 23, Op::Notify { condition });
    let outcome = WaitOutcome::Notified;
    let wait = Op::WaitEnd {
        condition,
        lock,
        outcome,
        attempt: false,
    };
    making.add(1, 12, wait).add(1, 13, Op::Release { lock }).section(2, 30);
    let delays = making.delays(&|_| false);
    assert_eq!(delays.woken.len(), 1);
    let (&notify, &woken) = delays.woken.iter().next().unwrap();
    assert_eq!((making.events[notify as usize].1, woken), (23, ThreadId(1)));
}

#[test]
fn meetings_are_at_what_two_threads_use() {
    let mut making = Making::new();
    assert_eq!(meetings(&making.file()).unwrap(), 0);
    making.section(1, 10).section(1, 10);
    assert_eq!(meetings(&making.file()).unwrap(), 0);
    making.section(2, 10);
    assert_eq!(meetings(&making.file()).unwrap(), 3);
}

#[test]
fn of_many_orders_each_two_places_keep_one() {
    let mut making = Making::new();
    for thread in [1, 2] {
        for position in 0..400 {
            making.section(thread, 1_000 + 10 * position);
        }
    }
    let tried = making.tried(&|_| false);
    assert!(tried.len() <= MOST);
    assert_eq!(tried.iter().collect::<HashSet<_>>().len(), tried.len());
}

/// What is kept of a run does not grow with it, whatever is done there.
#[test]
fn what_is_kept_of_a_run_is_bounded() {
    // Locks that are never given back, at thousands of places: what is near them is not waited for.
    let mut making = Making::new();
    let attempt = false;
    for position in 0..3 * MOST_COMING as u64 {
        making.add(1, position, Op::Acquire { lock: M, attempt });
    }
    let mut walk = Walk {
        prefers: None,
        recent: vec![(0, false); RECENT],
        threads: Vec::new(),
        places: HashMap::new(),
        times: Vec::new(),
        rows: HashMap::new(),
        meetings: Vec::new(),
        forks: HashMap::new(),
        waits: Vec::new(),
    };
    let mut longest = 0;
    each_event(&making.file(), u64::MAX, &mut |number, event: &Event| {
        walk.see(number, event);
        let coming = walk.threads.iter().map(|thread| thread.coming.len());
        longest = longest.max(coming.max().unwrap_or(0));
    })
    .unwrap();
    assert!((MOST_COMING..=MOST_COMING + 1).contains(&longest), "{longest}");
    let visits = &walk.meetings[0][0].1;
    assert_eq!((visits.of_places.len(), visits.rare.len()), (MOST_PLACES, MOST_PLACES));

    // More threads at one lock than are looked at: of all pairs of them, there would be four times as many orders.
    let visitors = |threads: u32| -> Vec<(ThreadId, Visits)> {
        let visits = |thread: u32| {
            let mut visits = Visits::default();
            for nth in 0..MOST_POINTS as u32 {
                let event = EventId(thread + threads * nth);
                visits.add(Point {
                    event,
                    end: event,
                    place: nth,
                    is_near: false,
                });
            }
            visits
        };
        (0..threads).map(|thread| (ThreadId(thread), visits(thread))).collect()
    };
    let times = vec![1; MOST_POINTS];
    let mut delays = Making::new().delays(&|_| false);
    delays.add(&visitors(2 * MOST_VISITORS as u32), &times, &vec![true; times.len()]);
    let stopped = delays.all.iter().map(|delay| delay.stopped).collect::<HashSet<_>>();
    assert!(stopped.len() <= MOST_VISITORS, "{} threads", stopped.len());
    assert!(delays.all.len() <= 4 * MOST, "{}", delays.all.len());
    assert!(delays.all.capacity() <= 8 * MOST, "{}", delays.all.capacity());
}

#[test]
fn a_later_trace_adds_the_orders_at_places_to_which_no_trace_came_before() {
    let mut first = Making::new();
    for thread in [1, 2] {
        for _ in 0..400 {
            first.section(thread, 10);
        }
    }
    let later = once_in_the_middle();
    let mut orders = Orders::of(first.file(), None).unwrap();
    let mut decided = Vec::new();
    for run in 1..10 {
        assert_eq!(orders.next_run(), run);
        decided.push(orders.decide(None).unwrap());
        // The last one of the first stage that is left to chance, and one of the next stage, to which nothing is new.
        let is_needed = orders.see(run, &later.bytes()).unwrap();
        assert_eq!(is_needed, [2, 6].contains(&run), "{run}");
    }
    let of_later: Vec<(u32, (u64, u64))> = (1..)
        .zip(&decided)
        .filter_map(|(run, decided)| {
            let &(row, delay) = decided.as_ref()?;
            let position = |event: EventId| later.events[event.0 as usize].1;
            (row == 1).then(|| (run, (position(delay.stop), position(delay.first))))
        })
        .collect();
    // Both new places first, as often as two places are tried; then one of them.
    assert_eq!(of_later[..2], [(4, (20, 30)), (5, (20, 30))]);
    let is_new = |&(_, (stop, first)): &(u32, (u64, u64))| stop == 20 || first == 30;
    assert!(of_later.len() > 2 && of_later.iter().all(is_new), "{of_later:?}");
    let steps = orders.steps(decided[4].unwrap()).unwrap();
    assert!(steps.len() > 1_000, "up to the middle of the later run");
}
