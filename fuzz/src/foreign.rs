//! What must hold of every foreign trace that is imported.

use crate::native;
use trace_format::TraceFile;
use witness::check::validate;
use witness::import::{Format, ImportError, Opened, read, write_json_lines};
use witness::trace::Trace;

/// Reads a content in one of the formats that have no values, strictly and with repairs: the one that
/// is accepted is an execution, and the strict reader accepts exactly what needs no repair.
pub fn mended(bytes: &[u8], format: Format) -> Option<(TraceFile, Trace)> {
    let strict = read("fuzz", bytes.to_vec(), Some(format), false);
    let mended = match read("fuzz", bytes.to_vec(), Some(format), true) {
        Ok(mended) => mended,
        Err(ImportError::Header { .. } | ImportError::Log { .. } | ImportError::TooManyNames { .. }) => {
            assert!(strict.is_err(), "what cannot be mended is not accepted either");
            return None;
        }
        Err(error) => panic!("--repair mends every trace: {error}"),
    };
    let needed = mended.repairs.iter().map(|repair| format!("{repair}\n"));
    let needed: String = needed.collect();
    match strict {
        Ok(strict) => {
            assert!(needed.is_empty(), "repaired, though it was accepted without:\n{needed}");
            assert_eq!(strict.file.id(), mended.file.id());
        }
        Err(refusal) => {
            assert!(!needed.is_empty(), "refused without a repair to list: {refusal}");
            assert!(
                !refusal.to_string().chars().any(|c| c.is_control() && c != '\t'),
                "{refusal}"
            );
        }
    }
    let trace = loaded(&mended);
    if let Err(violation) = validate(&trace) {
        panic!("the imported trace is no execution: {violation}\n{needed}");
    }
    Some((mended.file, trace))
}

/// Reads JSON lines; what is accepted is an execution, and survives a way out and back.
pub fn json_lines(bytes: &[u8]) -> Option<(TraceFile, Trace)> {
    let opened = match read("fuzz", bytes.to_vec(), Some(Format::JsonLines), false) {
        Ok(opened) => opened,
        Err(refusal) => {
            assert!(!refusal.to_string().contains(char::is_control), "{refusal}");
            return None;
        }
    };
    let trace = loaded(&opened);
    assert!(validate(&trace).is_ok(), "the accepted trace is no execution");
    let mut text = Vec::new();
    write_json_lines(&opened.file, &mut text).expect("what was read can be written");
    let again = read("fuzz", text, None, false).expect("what was written can be read");
    assert_eq!(again.format, Format::JsonLines);
    assert_eq!(again.file.tables(), opened.file.tables());
    assert!(
        again
            .file
            .events()
            .map(Result::unwrap)
            .eq(opened.file.events().map(Result::unwrap))
    );
    Some((opened.file, trace))
}

fn loaded(opened: &Opened) -> Trace {
    native::walk(&opened.file).expect("an import has no damage");
    Trace::from_file(&opened.file).expect("an imported trace can be loaded")
}
