//! Source files as others refer to them: relative to the folder of the sources, as a URI.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// What a path may hold in a URI as it is (RFC 3986, section 3.3), less `:`, which would look like a scheme.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+')
    .remove(b'@')
    .remove(b'=')
    .remove(b',');

/// The folder of the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRoot {
    /// The folder, absolute if that can be known. Paths below it are given relative to it where that is the custom.
    pub folder: PathBuf,
    /// The user has named it: sources below it may be shown, whoever recorded the trace.
    pub is_named: bool,
}

/// That of those who name none, and show no paths relative to it.
pub static NO_ROOT: LazyLock<SourceRoot> = LazyLock::new(|| SourceRoot {
    folder: PathBuf::new(),
    is_named: false,
});

/// A file, seen from the folder of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Relative to that folder if it lies below it, else absolute.
    pub(super) path: String,
    /// Whether it lies below it.
    pub(super) below: bool,
}

/// A file as it is seen from `root`. Paths that are relative already are taken to be so to it.
pub(super) fn seen(file: &str, root: &Path) -> Seen {
    let file = plain(Path::new(file));
    let path = file.strip_prefix(plain(root)).unwrap_or(&file);
    Seen {
        path: path.display().to_string(),
        below: path.is_relative(),
    }
}

/// Without `.` and, as far as names say, without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
        plain
    })
}

impl Seen {
    /// As a reference of a URI.
    pub(super) fn uri(&self) -> String {
        let path = utf8_percent_encode(&self.path, KEPT);
        if self.below {
            path.to_string()
        } else {
            format!("file://{path}")
        }
    }
}

/// A folder as a URI, which ends in `/`.
pub(super) fn folder_uri(folder: &Path) -> String {
    let path = folder.display().to_string();
    format!("file://{}/", utf8_percent_encode(path.trim_end_matches('/'), KEPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_sources_are_relative() {
        let uri = |file| seen(file, Path::new("/src/app/")).uri();
        assert_eq!(uri("/src/app/src/a.c"), "src/a.c");
        assert_eq!(uri("/src/app/build/../src/./a b#1.c"), "src/a%20b%231.c");
        assert_eq!(uri("src/a.c"), "src/a.c");
        assert_eq!(uri("/src/apples/a.c"), "file:///src/apples/a.c");
        assert_eq!(folder_uri(Path::new("/src/app")), "file:///src/app/");
        assert_eq!(folder_uri(Path::new("/")), "file:///");
    }
}
