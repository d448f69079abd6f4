//! What lies beside a trace: plans, shards, journals and results, with right checksums and any content.

use safe_files::ScratchFolder;
use std::fs;
use std::path::Path;
use trace_format::TraceId;
use witness::analyze::{Options, Shard};
use witness::store::{self, Binding, Found, Journal, Plan};

/// Reads the input as each of them. Nothing of it is this user's.
pub fn files(input: &[u8]) {
    let folder = ScratchFolder::new("witness-fuzz-store").expect("a folder");
    let here = folder.path();
    let trace = TraceId([7; 16]);
    let binding = Binding::of(Path::new("/no/such/trace"));
    let options = Options::default();
    let options = witness::results::Options {
        instances: options.instances,
        explanations: options.explanations,
        budget: options.budget,
        solver: options.solver,
        model: options.form,
        find: options.find,
        regions: options.regions,
        max_pairs: options.most_pairs,
        first_events: None,
    };
    let plan = Plan::new(trace, options, &[], 0);
    // An `@` stands for what the header of a shard of this plan has.
    let input = String::from_utf8_lossy(input).replace('@', &plan.id().to_string());
    let input = input.as_bytes();
    // Lines with the checksum that they should have.
    let lines = input.split(|&byte| byte == b'\n').map(|line| {
        let sealed = [b"- ", line].concat();
        [format!("{:08x} ", crc32c::crc32c(&sealed)).as_bytes(), &sealed, b"\n"].concat()
    });
    let lines: Vec<u8> = lines.flatten().collect();
    fs::create_dir(here.join("shards")).expect("a folder");
    fs::write(here.join("shards/1-of-1.decisions"), &lines).expect("a file");
    fs::write(here.join("journal"), &lines).expect("a file");
    for file in ["results.json", "results.seal", "plan.json", "1.sched"] {
        fs::write(here.join(file), input).expect("a file");
    }
    if let Ok(shards) = store::load_shards(here, &plan, &binding) {
        assert!(!shards.of_others.is_empty(), "nobody has sealed it");
    }
    let journal = Journal::open(&here.join("journal"), &plan.id(), Shard::WHOLE, binding);
    if let Ok(Some((_, decisions))) = journal {
        assert!(decisions.is_empty(), "nobody has sealed it");
    }
    let found = store::load(here, trace, &binding);
    assert!(!matches!(found, Ok(Found::Stored(_))), "nobody has sealed it");
    if let Ok((_, is_ours)) = Plan::load(here, trace, &binding) {
        assert!(!is_ours, "nobody has sealed it");
    }
    let _ = store::read_schedule(&here.join("1.sched"));
}
