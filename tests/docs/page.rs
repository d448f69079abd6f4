//! A page: what it has to be executed, and what it mentions.

use crate::command::Command;
use crate::recipe;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fs;
use std::path::{Path, PathBuf};

/// The pages: the README and all of `docs`, as paths from the repository's root.
pub fn all() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).expect("docs");
    let names = docs.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> = names
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a page has.
#[derive(Default)]
pub struct Page {
    pub name: String,
    /// Files of the repository that its commands need, and what they are called there.
    pub files: Vec<(String, String)>,
    /// In their order.
    pub commands: Vec<Command>,
    /// Files that its recipes collect when their jobs are done.
    pub collected: Vec<String>,
    /// Code within a line, with the line.
    pub spans: Vec<(usize, String)>,
    /// The targets of links, with the line.
    pub links: Vec<(usize, String)>,
    /// The rows of tables.
    pub rows: Vec<Vec<Cell>>,
    /// As links name them.
    pub headings: Vec<String>,
}

/// A cell of a table.
#[derive(Default)]
pub struct Cell {
    pub text: String,
    pub code: Vec<String>,
}

impl Page {
    /// Reads a page. Fails on a block that could hold commands and does not say so.
    pub fn read(name: &str) -> Page {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut page = Page {
            name: name.to_owned(),
            ..Page::default()
        };
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let (mut language, mut heading, mut in_cell) = (None, None, false);
        for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
            let number = line(range.start);
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(of))) => language = Some(of.into_string()),
                Event::End(TagEnd::CodeBlock) => language = None,
                Event::Text(code) if language.is_some() => {
                    page.block(language.as_deref().unwrap_or_default(), number, &code);
                }
                Event::Html(comment) | Event::InlineHtml(comment) => page.comment(number, comment.trim()),
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push((number, dest_url.into_string())),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.headings.extend(heading.take().map(|text| anchor(&text))),
                Event::Start(Tag::TableRow | Tag::TableHead) => page.rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => {
                    page.rows.last_mut().expect("a row").push(Cell::default());
                    in_cell = true;
                }
                Event::End(TagEnd::TableCell) => in_cell = false,
                Event::Text(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&text));
                    if let Some(cell) = page.cell().filter(|_| in_cell) {
                        cell.text.push_str(&text);
                    }
                }
                Event::Code(code) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&code));
                    let code = code.into_string();
                    if let Some(cell) = page.cell().filter(|_| in_cell) {
                        cell.code.push(code.clone());
                    }
                    page.spans.push((number, code));
                }
                _ => {}
            }
        }
        page
    }

    /// The last cell.
    fn cell(&mut self) -> Option<&mut Cell> {
        self.rows.last_mut()?.last_mut()
    }

    /// A block of a language that begins at a line.
    fn block(&mut self, language: &str, first: usize, code: &str) {
        let place = |number: usize| format!("{}:{number}", self.name);
        match language {
            "console" => {
                for (number, line) in (first..).zip(code.lines()) {
                    match (line.strip_prefix("$ "), self.commands.last_mut()) {
                        (Some(command), _) => self.commands.push(Command::new(&place(number), command)),
                        (None, Some(command)) if !line.trim().is_empty() => command.prints(line),
                        _ => {}
                    }
                }
            }
            "sh" => {
                let lines = (first..).zip(code.lines()).filter(|(_, line)| !line.trim().is_empty());
                let commands = lines.map(|(number, line)| Command::new(&place(number), line));
                self.commands.extend(commands.collect::<Vec<_>>());
            }
            "yaml" => {
                let recipe = recipe::read(&place(first), code);
                let commands = recipe.lines.iter().map(|line| Command::new(&place(first), line));
                self.commands.extend(commands.collect::<Vec<_>>());
                self.collected.extend(recipe.collected);
            }
            // Code, and what files and reports look like.
            "c" | "" => {
                for line in code.lines() {
                    let commands = ["$ ", "witness ", "./", "cargo ", "gcc "];
                    let is_command = commands.iter().any(|start| line.starts_with(start));
                    assert!(!is_command, "{}: {line}: the block is not console or sh", place(first));
                }
            }
            other => panic!("{}: a block of {other}: does it have commands?", place(first)),
        }
    }

    /// `<!-- with FILE as NAME -->`, `<!-- run COMMAND -->`.
    fn comment(&mut self, line: usize, comment: &str) {
        let said = comment
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"))
            .unwrap_or_else(|| panic!("{}:{line}: {comment}", self.name));
        if let Some(command) = said.strip_prefix("run ") {
            self.commands
                .push(Command::new(&format!("{}:{line}", self.name), command));
        } else if let Some((from, to)) = said.strip_prefix("with ").and_then(|with| with.split_once(" as ")) {
            self.files.push((from.to_owned(), to.to_owned()));
        } else {
            panic!(
                "{}:{line}: neither `with FILE as NAME` nor `run COMMAND`: {comment}",
                self.name
            );
        }
    }

    /// An empty folder with the files that the page needs.
    pub fn folder(&self) -> PathBuf {
        let folder = folder(&self.name.replace('/', "-"));
        for (from, to) in &self.files {
            let to = folder.join(to);
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            fs::copy(root().join(from), to).unwrap_or_else(|error| panic!("{}: {from}: {error}", self.name));
        }
        folder
    }
}

/// An empty folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// What links call a heading, as GitHub and mdBook do.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    letters.collect::<String>().to_lowercase()
}
