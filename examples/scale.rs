//! scratch
use std::time::Instant;
use trace_format::*;
use witness::generate::*;
use witness::trace::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let events: u64 = a[1].parse().unwrap();
    let unprot: f64 = a[2].parse().unwrap();
    let inst: u32 = a[3].parse().unwrap();
    let shape = Shape {
        events,
        unprotected: unprot,
        values: a.get(4).map_or(16, |x| x.parse().unwrap()),
        ..Shape::default()
    };
    let g = Generator::new(shape);
    let tables = Tables {
        threads: g.threads(),
        objects: g.objects(),
        sources: g.sources(),
        ..Tables::default()
    };
    let evs: Vec<Event> = g
        .map(|(thread, pc, op)| Event {
            thread,
            pc,
            stack: StackId::EMPTY,
            op,
        })
        .collect();
    let t = Instant::now();
    let trace = Trace::from_events(tables, &evs);
    println!("load {:?}", t.elapsed());
    let t = Instant::now();
    let o = witness::prune::MustHappenBefore::of(&trace);
    println!("mhb {:?}", t.elapsed());
    let t = Instant::now();
    let s = Sections::of(&trace);
    println!("sections {:?}", t.elapsed());
    let t = Instant::now();
    let c = witness::prune::LockContexts::of(&trace, &s);
    println!("contexts {:?}", t.elapsed());
    let t = Instant::now();
    let k = witness::candidates::candidates(&trace, &o, &c, Some(inst as usize));
    println!(
        "candidates {} with instances {} {:?}",
        k.len(),
        k.iter().filter(|c| !c.instances.is_empty()).count(),
        t.elapsed()
    );
    let sp = witness::predict::SyncPreserving::new(&trace, &o, &s);
    let t = Instant::now();
    let mut f = 0;
    let mut fi = 0;
    let mut ti = 0;
    for c in &k {
        let mut ok = false;
        for &(a, b) in &c.instances {
            ti += 1;
            if sp.predict(a, b).is_some() {
                fi += 1;
                ok = true;
            }
        }
        if ok {
            f += 1
        }
    }
    println!("sp finds {f} pairs {fi} of {ti} instances {:?}", t.elapsed());
    let t = Instant::now();
    let an = witness::analyze::analyze(
        &trace,
        &witness::analyze::Options {
            instances: Some(inst),
            ..Default::default()
        },
    );
    let mut w = 0;
    let mut r = 0;
    let mut u = std::collections::BTreeMap::new();
    let mut ev = 0;
    let mut sw = 0;
    for p in &an.pairs {
        match &p.verdict {
            witness::verdict::Verdict::Witnessed(s) => {
                w += 1;
                ev += s.len();
                sw += s.switches();
            }
            witness::verdict::Verdict::Refuted(_) => r += 1,
            witness::verdict::Verdict::Unknown(x) => *u.entry(format!("{x:?}")).or_insert(0) += 1,
        }
    }
    println!(
        "analyze {:?}: witnessed {w} refuted {r} unknown {u:?} rejected {} avg len {} switches {}",
        t.elapsed(),
        an.rejected.len(),
        ev / (w.max(1) as u64),
        sw / w.max(1)
    );
    if let Some(x) = an.rejected.first() {
        println!("{}", x.reason);
    }
}
