//! Code that somebody has put where the runtime is unpacked.

use crate::command::run;
use crate::place::Place;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The folder with the runtime, somewhere below.
fn runtime(folder: &Path) -> std::path::PathBuf {
    let inside = fs::read_dir(folder).expect("a folder").flatten();
    let found = inside.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_dir() && name.starts_with("runtime-")
    });
    found.unwrap_or_else(|| panic!("no runtime in {}", folder.display()))
}

/// A program that asks for a library, which says something else if it is found beside the runtime.
fn program(place: &Place) {
    fs::create_dir(place.path("good")).expect("a folder");
    for (file, word) in [("good/libword.so", "good"), ("libword.so", "planted")] {
        fs::write(
            place.path("word.c"),
            format!("const char *word(void) {{ return \"{word}\"; }}\n"),
        )
        .expect("a source");
        place.gcc(&["-shared", "-fPIC", "word.c", "-o", file]);
    }
    fs::write(
        place.path("asks.c"),
        "#include <stdio.h>\nconst char *word(void);\nint main(void) { puts(word()); }\n",
    )
    .expect("a source");
    place.gcc(&["-fsanitize=thread", "asks.c", "-o", "asks", "-Lgood", "-lword"]);
}

fn said(place: &Place, home: bool) -> String {
    let mut command = place.command(&["record", "-o", "asks.bin", "--", "./asks"]);
    command
        .env("LD_LIBRARY_PATH", place.path("good"))
        .env("TMPDIR", place.path("tmp"))
        .env_remove("XDG_CACHE_HOME")
        .env_remove("HOME");
    if home {
        command.env("HOME", place.path("home"));
    }
    run(&mut command).status(0).stdout
}

#[test]
fn a_library_beside_the_runtime_is_not_loaded() {
    for home in [false, true] {
        let place = Place::new(if home { "planted-home" } else { "planted-tmp" });
        fs::create_dir_all(place.path("tmp")).expect("a folder");
        fs::create_dir_all(place.path("home")).expect("a folder");
        program(&place);
        assert!(said(&place, home).starts_with("good"));
        let folder = if home {
            place.path("home/.cache/witness")
        } else {
            let mut inside = fs::read_dir(place.path("tmp")).expect("a folder").flatten();
            inside.next().expect("a folder for the runtime").path()
        };
        let there = runtime(&folder);
        fs::copy(place.path("libword.so"), there.join("libword.so")).expect("a planted library");
        assert!(said(&place, home).starts_with("good"), "home: {home}");
    }
}

#[test]
fn a_runtime_that_others_can_write_to_is_not_used() {
    let place = Place::new("planted-runtime");
    fs::create_dir_all(place.path("tmp")).expect("a folder");
    program(&place);
    said(&place, false);
    let parent = fs::read_dir(place.path("tmp")).expect("a folder").flatten().next();
    let parent = parent.expect("a folder for the runtime").path();
    let there = runtime(&parent);
    // Another user's, as far as that can be had here: whoever may write to it can replace what was compared.
    fs::set_permissions(&parent, Permissions::from_mode(0o777)).expect("its mode");
    fs::remove_file(there.join("libtsan.so.0")).expect("a name of the runtime");
    fs::copy(place.path("libword.so"), there.join("libtsan.so.0")).expect("a planted library");
    assert!(said(&place, false).starts_with("good"));
    let others = fs::read_dir(place.path("tmp")).expect("a folder").flatten();
    let others = others.map(|entry| entry.path()).filter(|path| *path != parent);
    assert_eq!(others.count(), 1, "a fresh folder takes its place");
    assert_eq!(
        fs::read(there.join("libtsan.so.0")).ok(),
        fs::read(place.path("libword.so")).ok(),
        "it is left alone"
    );
}
