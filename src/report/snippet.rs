//! The source lines of the two accesses, in context, if the sources are there.

use super::paint::Paint;
use super::source_text::SourceText;
use super::words::Words;
use crate::symbols::printable;
use crate::trace::EventId;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Lines before and behind one that is marked.
const CONTEXT: u32 = 2;

struct Mark {
    file: String,
    line: u32,
    label: String,
}

/// Both places, marked with what happens there; `None` if neither source is there.
pub(super) fn snippet(
    words: &Words<'_>,
    sources: &SourceText,
    accesses: [(EventId, String); 2],
    paint: Paint,
) -> Option<String> {
    let marks = accesses.into_iter().filter_map(|(event, label)| {
        let frame = words.frame(event);
        let (file, line) = (frame.file?, frame.line?);
        let there = sources.whole(&file, line).is_some_and(|text| !text.trim().is_empty());
        there.then_some(Mark { file, line, label })
    });
    let marks: Vec<Mark> = marks.collect();
    // Two places whose contexts touch are shown together.
    let together = match &marks[..] {
        [a, b] => a.file == b.file && a.line.abs_diff(b.line) <= 2 * CONTEXT + 1,
        _ => false,
    };
    let groups: Vec<&[Mark]> = if together {
        vec![&marks[..]]
    } else {
        marks.chunks(1).collect()
    };
    let elements: Vec<_> = groups.into_iter().map(|marks| excerpt(sources, marks)).collect();
    if elements.is_empty() {
        return None;
    }
    let renderer = if paint.on {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    Some(renderer.render(&[Group::with_level(Level::ERROR).elements(elements)]))
}

fn excerpt<'a>(sources: &SourceText, marks: &[Mark]) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let lines = marks.iter().map(|mark| mark.line);
    let first = lines.clone().min().unwrap_or(1).saturating_sub(CONTEXT).max(1);
    let last = lines.max().unwrap_or(1).saturating_add(CONTEXT);
    let mut text = String::new();
    let mut annotations = Vec::new();
    for line in first..=last {
        let Some(source) = sources.whole(&marks[0].file, line) else {
            break;
        };
        let start = text.len() + source.len() - source.trim_start().len();
        let end = text.len() + source.len();
        let here = marks.iter().filter(|mark| mark.line == line);
        annotations.extend(here.map(|mark| AnnotationKind::Primary.span(start..end).label(mark.label.clone())));
        text += &source;
        text.push('\n');
    }
    Snippet::source(text)
        .line_start(first as usize)
        .path(printable(&marks[0].file).into_owned())
        .fold(false)
        .annotations(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use crate::trace::{StackId, Tables, ThreadId, Trace};
    use trace_format::{Event, Op, SourceInfo};

    #[test]
    fn both_lines_are_marked_where_the_sources_are_there() {
        let folder = std::env::temp_dir().join(format!("witness-snippet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("a.c");
        let text: String = (1..=20).map(|line| format!("\tline{line}();\n")).collect();
        std::fs::write(&file, text).expect("a source");
        let shown = |lines: [u32; 2], file: &str| {
            let sources = lines.iter().zip(1..).map(|(&line, pc)| SourceInfo {
                pc,
                function: None,
                file: file.to_owned(),
                line,
            });
            let tables = Tables {
                sources: sources.collect(),
                ..Tables::default()
            };
            let event = |pc| Event {
                thread: ThreadId(0),
                pc,
                stack: StackId::EMPTY,
                op: Op::Branch,
            };
            let trace = Trace::from_events(tables, &[event(1), event(2)]);
            let symbols = Symbols::new(trace.tables());
            let words = Words {
                trace: &trace,
                symbols: &symbols,
            };
            let accesses = [(EventId(0), "a: write".to_owned()), (EventId(1), "b: read".to_owned())];
            snippet(&words, &SourceText::of_own_trace(), accesses, Paint::default())
        };
        let name = file.display().to_string();
        let apart = shown([3, 17], &name).expect("a snippet");
        assert_eq!(apart.matches("a.c:").count(), 2, "{apart}");
        for part in [
            "line1();",
            "3 |     line3();",
            "^^^^^^^^ a: write",
            "line5();",
            "line15();",
            "^^^^^^^^^ b: read",
            "line19();",
        ] {
            assert!(apart.contains(part), "{part}:\n{apart}");
        }
        assert!(!apart.contains("line6();"), "{apart}");
        let close = shown([8, 10], &name).expect("a snippet");
        assert_eq!(close.matches("a.c:").count(), 1, "{close}");
        assert!(close.contains("a: write") && close.contains("b: read"), "{close}");
        assert!(shown([5, 5], &name).expect("a snippet").contains("b: read"));
        assert_eq!(shown([3, 400], "/no/such/file.c"), None);
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
