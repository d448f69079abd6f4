//! The build systems in docs/recording.md: each line of its table builds a project that can be recorded.

use crate::command::{shell, there_is};
use crate::page::{Page, folder, root};
use std::fs;
use std::path::Path;

/// As the page calls it, the program, and what builds after its line.
const SYSTEMS: [(&str, &str, &str, &str); 3] = [
    ("make", "make", "true", "."),
    ("CMake", "cmake", "cmake --build build", "build"),
    ("meson", "meson", "meson compile -C build", "build"),
];

const FILES: [(&str, &str); 5] = [
    ("tests/docs/projects/build/Makefile", "Makefile"),
    ("tests/docs/projects/build/CMakeLists.txt", "CMakeLists.txt"),
    ("tests/docs/projects/build/meson.build", "meson.build"),
    ("tests/programs/wrong_lock.c", "app.c"),
    ("tests/programs/cpp_locks.cc", "locks.cc"),
];

fn expect(folder: &Path, line: &str, status: i32) {
    let (ended, said) = shell(folder, line);
    assert_eq!(ended, status, "`{line}` in {}:\n{said}", folder.display());
}

#[test]
fn every_build_system_builds_what_can_be_recorded() {
    let page = Page::read("docs/recording.md");
    let gcc = page.rows.iter().find(|row| row[0].text == "gcc 11 and later");
    let flags = &gcc.expect("the flags for gcc stand there").last().expect("flags").code[0];
    let table = page.rows.iter().skip_while(|row| row[0].text != "build system").skip(1);
    let rows: Vec<_> = table.take_while(|row| row.len() == 3).collect();
    let named: Vec<&str> = rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(
        named,
        SYSTEMS.map(|system| system.0),
        "the table and the test know different build systems"
    );
    for (row, (name, program, build, built)) in rows.iter().zip(SYSTEMS) {
        if !there_is(program) {
            eprintln!("SKIPPED: there is no {program}: apt-get install {program}");
            continue;
        }
        for (number, cell) in row[1..].iter().enumerate() {
            let [line] = &cell.code[..] else {
                panic!("{name}: one line was expected: {:?}", cell.code);
            };
            let folder = folder(&format!("build-{program}-{number}"));
            for (from, to) in FILES {
                fs::copy(root().join(from), folder.join(to)).expect("a file of the project");
            }
            expect(&folder, &format!("FLAGS='{flags}'; {line}"), 0);
            expect(&folder, build, 0);
            for (program, lines) in [("app", "app.c:19 app.c:28"), ("locks", "")] {
                expect(
                    &folder,
                    &format!("witness record -o {program}.bin -- {built}/{program}"),
                    0,
                );
                expect(&folder, &format!("witness analyze {program}.bin"), 66);
                if !lines.is_empty() {
                    expect(&folder, &format!("witness explain {program}.bin {lines}"), 66);
                }
            }
        }
    }
}
