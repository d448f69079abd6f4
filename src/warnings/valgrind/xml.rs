//! Valgrind's XML, protocol 4, as Helgrind and DRD write it (docs/internals/xml-output-protocol4.txt in Valgrind).

use super::{Said, completes_order, explains, kind, said};
use crate::warnings::{Format, Frame, Kind, Location, ReadError, Side, Stack, Warning};
use roxmltree::{Document, Node, ParsingOptions};

/// Elements of a document that are read; reports of real programs have some tens of thousands.
const MAX_NODES: u32 = 50_000_000;

pub(crate) fn read(name: &str, text: &str) -> Result<Vec<Warning>, ReadError> {
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| ReadError::Xml {
        file: name.to_owned(),
        line: match error {
            // The place of the element that is not closed is where it begins; what is wrong is at the end.
            roxmltree::Error::UnclosedRootNode => text.lines().count() as u32,
            ref error => error.pos().row,
        },
        reason: error.to_string(),
    })?;
    let root = document.root_element();
    let row = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row;
    let not_valgrind = |node: Node<'_, '_>, reason: String| ReadError::NotValgrind {
        file: name.to_owned(),
        line: row(node),
        reason,
    };
    if !root.has_tag_name("valgrindoutput") {
        let reason = format!("the document is <{}>, and not <valgrindoutput>", root.tag_name().name());
        return Err(not_valgrind(root, reason));
    }
    let version = child(root, "protocolversion");
    if version != Some("4") {
        let reason = format!("version {} of Valgrind's XML, and not 4", version.unwrap_or("none"));
        return Err(not_valgrind(root, reason));
    }
    let format = match child(root, "protocoltool") {
        Some("helgrind") => Format::Helgrind,
        Some("drd") => Format::Drd,
        tool => {
            let reason = format!("a report of {}, and not of helgrind or drd", tool.unwrap_or("no tool"));
            return Err(not_valgrind(root, reason));
        }
    };
    let errors = root.children().filter(|node| node.has_tag_name("error"));
    Ok(errors
        .map(|error| {
            let mut warning = warning(error, format);
            (warning.report, warning.line) = (name.to_owned(), row(error) as usize);
            warning
        })
        .collect())
}

/// The text of the first child of a name.
fn child<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let found = node.children().find(|child| child.has_tag_name(name))?;
    Some(found.text().unwrap_or_default().trim())
}

/// What the stacks that follow belong to.
#[derive(Clone, Copy)]
enum Owner {
    Nobody,
    Side(usize),
    Heap,
    /// What is no race.
    Deed,
    /// The acquisition by which a lock order is violated, or was established.
    Completion,
}

fn warning(error: Node<'_, '_>, format: Format) -> Warning {
    let mut warning = Warning {
        report: String::new(),
        line: 0,
        format,
        title: child(error, "kind").unwrap_or("error").to_owned(),
        kind: Kind::Other,
        sides: Kind::Race.unknown_sides(),
        location: None,
        stacks: Vec::new(),
    };
    let mut owner = Owner::Nobody;
    let mut first = true;
    for node in error.children().filter(Node::is_element) {
        let sentence = match node.tag_name().name() {
            "what" | "auxwhat" => node.text().map(str::trim),
            "xwhat" | "xauxwhat" => child(node, "text"),
            "stack" => {
                stack(&mut warning, owner, node);
                // Only the stack right after a sentence is of what it says.
                owner = Owner::Nobody;
                continue;
            }
            _ => continue,
        };
        let Some(sentence) = sentence else {
            continue;
        };
        owner = Owner::Nobody;
        match said(sentence) {
            Some(Said::Race(side)) => {
                (warning.kind, warning.title) = (Kind::Race, "data race".to_owned());
                warning.sides = Kind::Race.unknown_sides();
                warning.sides[0] = side;
                owner = Owner::Side(0);
            }
            Some(Said::Other(side)) if warning.kind == Kind::Race => {
                warning.sides[1] = side;
                owner = Owner::Side(1);
            }
            Some(Said::Location(location)) => {
                if matches!(location, Location::Heap { .. }) {
                    owner = Owner::Heap;
                }
                warning.location.get_or_insert(location);
            }
            Some(Said::Other(_)) => {}
            None if first => {
                warning.kind = kind(sentence);
                warning.sides = warning.kind.unknown_sides();
                warning.title = sentence.to_owned();
                // Unlike the text, this begins with the acquisition that violates the order.
                owner = match warning.kind {
                    Kind::LockOrder => Owner::Completion,
                    _ => Owner::Deed,
                };
            }
            None if warning.kind == Kind::LockOrder && completes_order(sentence) => owner = Owner::Completion,
            None if warning.kind != Kind::Race && !explains(sentence) => owner = Owner::Deed,
            None => {}
        }
        first = false;
    }
    warning
}

fn stack(warning: &mut Warning, owner: Owner, stack: Node<'_, '_>) {
    let frames: Vec<Frame> = stack
        .children()
        .filter(|node| node.has_tag_name("frame"))
        .map(frame)
        .collect();
    match owner {
        Owner::Side(side) if !frames.is_empty() => warning.sides[side].stack = Stack::Frames(frames),
        Owner::Heap => {
            if let Some(Location::Heap { stack }) = &mut warning.location {
                *stack = frames;
            }
        }
        Owner::Deed if !frames.is_empty() => warning.stacks.push(frames),
        Owner::Completion if !frames.is_empty() => {
            warning.sides.push(Side::acquisition(None, frames.clone()));
            warning.stacks.push(frames);
        }
        Owner::Nobody | Owner::Side(_) | Owner::Deed | Owner::Completion => {}
    }
}

fn frame(node: Node<'_, '_>) -> Frame {
    let file = child(node, "file").map(|file| match child(node, "dir") {
        Some(dir) if !dir.is_empty() => format!("{}/{file}", dir.trim_end_matches('/')),
        _ => file.to_owned(),
    });
    Frame {
        function: child(node, "fn").map(str::to_owned),
        file,
        line: child(node, "line").and_then(|line| line.parse().ok()),
        module: child(node, "obj").map(str::to_owned),
        // Where the module was loaded is not said, so its offset is not known.
        ..Frame::default()
    }
}
