//! Results of `witness` itself for another trace: the pairs witnessed or left open there.

use super::{Format, Frame, Kind, ReadError, Side, Stack, Warning};
use crate::results::{AccessResult, FrameResult, Results, SCHEMA, Schema};

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Warning>, ReadError> {
    let malformed = |error: serde_json::Error| ReadError::Results {
        file: name.to_owned(),
        line: error.line().max(1),
        reason: error.to_string(),
    };
    let Schema { schema } = serde_json::from_str(text).map_err(malformed)?;
    if schema != SCHEMA {
        return Err(ReadError::Results {
            file: name.to_owned(),
            line: 1,
            reason: format!("the schema is {schema:?}, and not {SCHEMA}"),
        });
    }
    let results: Results = serde_json::from_str(text).map_err(malformed)?;
    // A pair's place in the text is not known after parsing; its first words are searched for.
    let mut verdicts = (1..).zip(text.lines()).filter(|(_, line)| line.contains("\"verdict\""));
    let mut warnings = Vec::new();
    for pair in &results.pairs {
        let line = verdicts.next().map_or(1, |(number, _)| number);
        if pair.verdict == "refuted" {
            continue;
        }
        warnings.push(Warning {
            report: name.to_owned(),
            line,
            format: Format::Witness,
            title: format!("data race ({})", pair.verdict),
            kind: Kind::Race,
            sides: vec![side(&results, &pair.a), side(&results, &pair.b)],
            location: None,
            stacks: Vec::new(),
        });
    }
    Ok(warnings)
}

fn side(results: &Results, access: &AccessResult) -> Side {
    let frames: Vec<Frame> = results.stack(access.stack).map(frame).collect();
    Side {
        acquires: false,
        writes: Some(!matches!(access.op.as_str(), "read" | "atomic read")),
        atomic: Some(access.op.starts_with("atomic")),
        size: Some(access.size),
        thread: Some(format!("thread {}", access.thread)),
        stack: if frames.is_empty() {
            Stack::NotGiven
        } else {
            Stack::Frames(frames)
        },
    }
}

fn frame(frame: &FrameResult) -> Frame {
    Frame {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        column: None,
        module: frame.module.clone(),
        offset: frame.offset.as_deref().and_then(super::lines::number),
        build_id: None,
    }
}
