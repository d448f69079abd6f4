//! Names in traces that are no names: commands to a terminal, or to a service that runs builds.

use crate::place::Place;
use trace_format::{
    MemRange, Meta, ModuleInfo, Op, ProgramEnd, SourceInfo, ThreadId, ThreadInfo, TraceWriter, WriterOptions,
};

const EVIL: &str = "x\u{1b}[2J\r\n::error::forged\n##[error]forged\n\u{202e}forged\u{9b}1m";

fn trace(place: &Place) {
    let mut writer = TraceWriter::create(&place.path("trace.bin"), &WriterOptions::default()).expect("a trace");
    writer.set_meta(Meta {
        producer: EVIL.to_owned(),
        command: vec![EVIL.to_owned()],
        directory: EVIL.to_owned(),
        policy: EVIL.to_owned(),
        environment: vec![format!("{EVIL}={EVIL}")],
        degraded: vec![EVIL.to_owned()],
        ..Meta::default()
    });
    for parent in [None, Some(ThreadId(0))] {
        writer.define_thread(ThreadInfo {
            name: Some(EVIL.to_owned()),
            parent,
            os_id: 0,
        });
    }
    writer.define_module(ModuleInfo {
        path: format!("/{EVIL}"),
        build_id: vec![1],
        base: 0x100_000,
        start: 0x100_000,
        end: 0x200_000,
    });
    for pc in [1, 2] {
        writer.define_source(SourceInfo {
            pc,
            function: Some(EVIL.to_owned()),
            file: EVIL.to_owned(),
            line: pc as u32,
        });
    }
    let range = MemRange { addr: 0x1000, size: 4 };
    let write = |value| Op::Write { mem: range, value };
    let mut event = |thread, pc, op| writer.event(ThreadId(thread), pc, op).expect("an event");
    event(0, 0x100_010, Op::Fork { child: ThreadId(1) });
    event(1, 1, write(1));
    event(0, 2, write(2));
    event(
        0,
        0x100_020,
        Op::Join {
            child: ThreadId(1),
            attempt: false,
        },
    );
    writer.finish(ProgramEnd::Exited(0)).expect("a trace");
}

#[test]
fn nothing_in_a_trace_reaches_a_terminal_or_a_log_as_a_command() {
    let place = Place::new("words");
    trace(&place);
    for arguments in [
        &["info", "trace.bin"][..],
        &["analyze", "trace.bin", "--report", "text=r.txt"],
        &["analyze", "trace.bin", "--color", "always"],
        &["replay", "trace.bin"],
        &["replay", "trace.bin", "--full"],
        &["replay", "trace.bin", "--live"],
        &["dump", "trace.bin"],
        &["check", "trace.bin"],
        &["explain", "trace.bin", EVIL, EVIL],
        &["plan", "trace.bin"],
    ] {
        let outcome = place.witness(arguments);
        let mut said = outcome.stdout + &outcome.stderr;
        if arguments.len() == 4 && arguments[0] == "analyze" && arguments[2] == "--report" {
            said += &std::fs::read_to_string(place.path("r.txt")).expect("a report");
        }
        let said = said.replace("\u{1b}[0m", "");
        let is_color = |rest: &str| {
            rest.find('m')
                .is_some_and(|end| rest[..end].bytes().all(|b| b.is_ascii_digit() || b == b';'))
        };
        let escapes = said.split("\u{1b}[").skip(1).filter(|rest| !is_color(rest));
        assert_eq!(escapes.count(), 0, "{arguments:?}: {said:?}");
        for letter in ['\r', '\u{202e}', '\u{9b}'] {
            assert!(!said.contains(letter), "{arguments:?}: {letter:?} in {said:?}");
        }
        for line in said.lines() {
            assert!(!line.trim_start().starts_with("::"), "{arguments:?}: {said:?}");
            assert!(!line.contains("##["), "{arguments:?}: {said:?}");
            assert!(!line.starts_with("forged"), "{arguments:?}: {said:?}");
        }
    }
}
