//! Programs after published advisories (`advisories/README.md`): each fault is found from at most three recordings and
//! shown live, and where it is mended there is none.

use crate::command::{Outcome, run, witness};
use crate::program::Program;
use std::path::Path;

/// What three runs show.
enum Found {
    /// A witness between the two marked lines, of this kind, confirmed live.
    Witness(&'static str, [&'static str; 2]),
    /// A run, made along a schedule that was chosen, that dies at the marked line.
    Dies(&'static str),
}

const PROGRAMS: [(&str, Found); 10] = [
    ("cve_2009_3547", Found::Dies("use")),
    ("cve_2010_5298", Found::Witness("use after free", ["free", "use"])),
    ("cve_2015_1791", Found::Witness("use after free", ["free", "free"])),
    ("cve_2015_3196", Found::Witness("data race", ["free", "free"])),
    ("cve_2015_7550", Found::Dies("use")),
    ("cve_2016_7117", Found::Witness("use after free", ["free", "use"])),
    ("cve_2016_8655", Found::Witness("use after free", ["free", "use"])),
    ("cve_2017_2636", Found::Dies("free")),
    ("cve_2018_1302", Found::Witness("use after free", ["free", "use"])),
    ("cve_2019_6974", Found::Witness("use after free", ["free", "use"])),
];

fn compiled(name: &str, flags: &[&str]) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/after_free/advisories");
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    let test = format!("after_free-advisories-{name}{}", flags.concat());
    Program::compile(&test, &folder.join(format!("{name}.c")), &flags)
}

fn three_runs(program: &Program) -> Outcome {
    let mut command = witness();
    command
        .args(["run", "--runs", "3", "-o", "run.bin", "--"])
        .arg(program.file());
    run(&program.folder, &mut command).unwrap()
}

#[test]
fn the_faults_of_advisories_are_found_in_three_runs() {
    for (name, found) in PROGRAMS {
        let program = compiled(name, &[]);
        let all = three_runs(&program);
        let said = format!("{name}: {}{}", all.stdout, all.stderr);
        match found {
            Found::Witness(kind, marks) => {
                assert_eq!(all.status, 66, "{said}");
                assert!(
                    all.stdout.contains(&format!("WARNING: witness: {kind} (witnessed)")),
                    "{said}"
                );
                let [a, b] = marks.map(|mark| program.line(mark));
                let confirmed = |line: &&str| {
                    line.contains(": confirmed live") && line.contains(&format!("{a} and ")) && line.contains(&b)
                };
                assert!(all.stdout.lines().any(|line| confirmed(&line)), "{said}");
            }
            Found::Dies(mark) => {
                assert_eq!(all.status, 68, "{said}");
                let place = program.line(mark);
                let dies = |line: &&str| line.contains(": died of ") && line.contains(&place);
                assert!(all.stderr.lines().any(|line| dies(&line)), "{said}");
            }
        }
    }
}

#[test]
fn what_is_mended_has_none() {
    for (name, _) in PROGRAMS {
        let all = three_runs(&compiled(name, &["-DFIXED"]));
        assert_eq!(all.status, 0, "{name}: {}{}", all.stdout, all.stderr);
        assert!(!all.stdout.contains("WARNING"), "{name}: {}", all.stdout);
    }
}
