//! Journals that are whole, that were not finished, damaged, in use, or of something else.

use super::*;
use crate::explore::{End, What};
use std::fs;

fn subject() -> Subject {
    Subject {
        tool: "witness 1".to_owned(),
        program: "/bin/app".into(),
        contents: 7,
        arguments: vec!["-n".to_owned(), "3".to_owned()],
        directory: "/".into(),
        environment: [("HOME", "/root"), ("SHLVL", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        input: None,
        fails_if: vec!["status".to_owned()],
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("witness-journal-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder.join("exploration.journal")
}

/// Three runs.
fn runs() -> Vec<(Learnt, Vec<u8>)> {
    let failure = What::Ended(End::Failure("exited with status 7".to_owned()));
    let shows = [vec![], vec![failure], vec![]];
    let waits = [None, None, Some(12)];
    let traces = [0, 1, 2].map(|run: u8| (0..3000_u32).map(|at| (at % 251) as u8 ^ run).collect());
    let learnt = waits.into_iter().zip(shows).map(|(waits, shows)| Learnt {
        waits,
        shows,
        contradicts: false,
        checksum: None,
    });
    learnt.zip(traces).collect()
}

fn write(path: &Path) {
    let mut journal = Journal::open(path, &subject(), true).unwrap();
    assert!(journal.begins());
    for (learnt, trace) in runs() {
        journal.add(&learnt, &trace).unwrap();
    }
}

fn read(path: &Path) -> Vec<(Learnt, Vec<u8>)> {
    let mut journal = Journal::open(path, &subject(), false).unwrap();
    let entries = std::iter::from_fn(|| journal.next().unwrap());
    entries.map(|Entry { learnt, trace }| (learnt, trace)).collect()
}

#[test]
fn what_was_kept_is_read_again_and_gone_on_with() {
    let path = folder("whole");
    write(&path);
    assert_eq!(read(&path), runs());
    let mut journal = Journal::open(&path, &subject(), false).unwrap();
    assert!(!journal.begins());
    while journal.next().unwrap().is_some() {}
    let (learnt, trace) = &runs()[1];
    journal.add(learnt, trace).unwrap();
    drop(journal);
    assert_eq!(read(&path)[3], runs()[1]);
    Journal::open(&path, &subject(), true).unwrap();
    assert_eq!(read(&path), [], "what begins anew holds nothing");
}

#[test]
fn wherever_it_is_cut_the_runs_before_are_kept() {
    let path = folder("cut");
    write(&path);
    let whole = fs::read(&path).unwrap();
    let mut kept = Vec::new();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let read = read(&path);
        assert_eq!(read, runs()[..read.len()], "{length}");
        kept.push(read.len());
        // What was not finished is gone, so that the next run can be added there.
        let mut journal = Journal::open(&path, &subject(), false).unwrap();
        while journal.next().unwrap().is_some() {}
        let (learnt, trace) = &runs()[0];
        journal.add(learnt, trace).unwrap();
        drop(journal);
        assert_eq!(self::read(&path).len(), read.len() + 1, "{length}");
    }
    assert!(kept.is_sorted());
    assert_eq!((kept[0], kept[whole.len()]), (0, 3));
}

#[test]
fn what_is_damaged_before_its_end_is_refused() {
    let path = folder("damaged");
    write(&path);
    let whole = fs::read(&path).unwrap();
    let (mut refused, mut shorter) = (0, 0);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let all = || -> Result<usize, JournalError> {
            let mut journal = Journal::open(&path, &subject(), false)?;
            let mut count = 0;
            while let Some(entry) = journal.next()? {
                assert_eq!((entry.learnt, entry.trace), runs()[count]);
                count += 1;
            }
            Ok(count)
        };
        match all() {
            Err(JournalError::Damaged { .. }) => refused += 1,
            // A frame that seems to go on beyond the file was not finished.
            Ok(count) => {
                assert!(count < 3, "{at}");
                shorter += 1;
            }
            Err(error) => panic!("{at}: {error}"),
        }
    }
    assert!(refused > 0 && shorter > 0, "{refused} {shorter}");
}

#[test]
fn no_frame_is_read_that_is_longer_than_any() {
    let path = folder("long");
    write(&path);
    let whole = fs::read(&path).unwrap();
    let first = u32::from_le_bytes(*whole[MAGIC.len()..].first_chunk().unwrap()) as usize;
    // The first frame, then the second; the file is as long as they say.
    for offset in [MAGIC.len(), MAGIC.len() + FRAME + first] {
        let mut bytes = whole.clone();
        bytes[offset..offset + 4].copy_from_slice(&0x6000_0000_u32.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 32)
            .unwrap();
        let next = Journal::open(&path, &subject(), false).and_then(|mut journal| journal.next().map(drop));
        let said = next.unwrap_err().to_string();
        for part in [
            "exploration.journal",
            &format!("at byte {offset} "),
            "longer than any run",
            "--anew",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn something_else_is_refused_and_named() {
    let path = folder("other");
    write(&path);
    let other = |change: &dyn Fn(&mut Subject)| {
        let mut other = subject();
        change(&mut other);
        Journal::open(&path, &other, false).map(drop)
    };
    for (change, named) in [
        (
            &(|other: &mut Subject| other.program = "/bin/b".into()) as &dyn Fn(&mut Subject),
            "the program \"/bin/app\"",
        ),
        (&|other| other.contents = 8, "another build of /bin/app"),
        (
            &|other| other.arguments[1] = "4".into(),
            "the arguments \"-n 3\" instead of \"-n 4\"",
        ),
        (&|other| other.directory = "/tmp".into(), "the working folder"),
        (&|other| other.input = Some("a file".into()), "another standard input"),
        (
            &|other| other.fails_if = vec!["signal".into()],
            "--fails-if \"status\" instead of \"signal\"",
        ),
        (
            &|other| drop(other.environment.insert("N".into(), "1".into())),
            "environment variable N",
        ),
        (&|other| other.tool = "witness 2".into(), "witness 1"),
    ] {
        let error = other(change).unwrap_err();
        assert!(matches!(error, JournalError::Other { .. }));
        assert!(error.to_string().contains(named), "{error}");
    }
    other(&|other| drop(other.environment.insert("SHLVL".into(), "2".into()))).unwrap();
}

#[test]
fn two_do_not_write_one_journal() {
    let path = folder("in-use");
    let first = Journal::open(&path, &subject(), false).unwrap();
    let second = Journal::open(&path, &subject(), true).unwrap_err();
    assert!(matches!(second, JournalError::InUse { .. }), "{second}");
    drop(first);
    Journal::open(&path, &subject(), false).unwrap();
}

#[test]
fn another_file_is_no_journal() {
    let path = folder("no-journal");
    fs::write(&path, "something else entirely").unwrap();
    let error = Journal::open(&path, &subject(), false).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { offset: 0, .. }), "{error}");
}
