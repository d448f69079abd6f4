//! Folders that somebody has prepared.

use safe_files::{
    Draft, Readers, ScratchFolder, holds, make_folder, open_log, open_to_change, read, read_named, write,
};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A folder with a file that matters, and a link to it under the name `name`.
fn planted(name: &str) -> (ScratchFolder, std::path::PathBuf, std::path::PathBuf) {
    let folder = ScratchFolder::new("planted").unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let link = folder.path().join(name);
    symlink(&precious, &link).unwrap();
    (folder, precious, link)
}

#[test]
fn a_draft_takes_the_place_of_a_link_and_does_not_follow_it() {
    let (folder, precious, _) = planted("a.partial");
    let path = folder.path().join("a");
    let mut draft = Draft::create(&path, ".partial", Readers::Owner).unwrap();
    draft.write_all(b"new").unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert!(!path.exists(), "a draft is not published before it is complete");
    draft.publish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // The name itself may be a link, too.
    symlink(&precious, folder.path().join("b")).unwrap();
    write(&folder.path().join("b"), b"new", Readers::AsUsual).unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn a_log_is_a_regular_file_with_one_name() {
    let (folder, precious, link) = planted("log");
    let error = open_log(&link, Readers::AsUsual).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    let hard = folder.path().join("hard");
    fs::hard_link(&precious, &hard).unwrap();
    let error = open_to_change(&hard).unwrap_err().to_string();
    assert!(error.contains("hard link"), "{error}");
    let new = folder.path().join("new");
    open_log(&new, Readers::Owner).unwrap().write_all(b"1").unwrap();
    open_log(&new, Readers::Owner).unwrap();
    assert_eq!(read(&new, 1).unwrap(), b"1");
    assert!(read(&new, 0).is_err());
    assert!(open_log(folder.path(), Readers::Owner).is_err());
}

#[test]
fn a_file_is_compared_to_its_last_byte() {
    let (folder, _, link) = planted("link");
    let file = folder.path().join("file");
    // Some pieces, and a part of one.
    let bytes: Vec<u8> = (0..200_000_u64).map(|at| (at * at / 8) as u8).collect();
    fs::write(&file, &bytes).unwrap();
    assert!(holds(&file, &bytes).unwrap());
    assert!(!holds(&file, &bytes[1..]).unwrap());
    assert!(!holds(&file, &[]).unwrap());
    for at in [0, 65_535, 65_536, bytes.len() - 1] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(!holds(&file, &other).unwrap(), "byte {at}");
    }
    fs::write(&file, []).unwrap();
    assert!(holds(&file, &[]).unwrap());
    assert!(!holds(&file, &bytes).unwrap());
    assert!(holds(&link, b"precious").is_err());
}

#[test]
fn neither_links_nor_pipes_are_read() {
    let (folder, _, link) = planted("link");
    assert!(read(&link, 100).is_err());
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    // And nobody waits for the other end.
    let error = read(&pipe, 100).unwrap_err().to_string();
    assert!(error.contains("regular"), "{error}");
    assert!(open_log(&pipe, Readers::Owner).is_err());
}

#[test]
fn what_a_trace_names_is_read_only_from_regular_files_of_a_disk() {
    let (_folder, precious, link) = planted("link");
    assert_eq!(read_named(&link, 100).unwrap(), b"precious");
    assert!(read_named(&precious, 3).unwrap_err().to_string().contains("too large"));
    for name in ["/proc/self/environ", "/sys/kernel/notes", "/dev/zero"] {
        assert!(read_named(name.as_ref(), 1 << 30).is_err(), "{name}");
    }
}

#[test]
fn a_folder_is_no_link() {
    let folder = ScratchFolder::new("folders").unwrap();
    let (real, link) = (folder.path().join("a/b"), folder.path().join("link"));
    make_folder(&real).unwrap();
    make_folder(&real).unwrap();
    symlink(&real, &link).unwrap();
    let error = make_folder(&link).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(make_folder(&folder.path().join("file")).is_err());
}

#[test]
fn what_others_can_write_to_is_not_private() {
    let folder = ScratchFolder::new("private").unwrap();
    assert!(safe_files::is_private_folder(folder.path()));
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let file = inner.join("file");
    fs::write(&file, "").unwrap();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&file, 0o644);
    mode(&inner, 0o755);
    assert!(safe_files::is_private_folder(&inner) && safe_files::is_private_file(&file));
    mode(&file, 0o666);
    assert!(!safe_files::is_private_file(&file));
    mode(&inner, 0o777);
    assert!(!safe_files::is_private_folder(&inner));
    mode(&inner, 0o755);
    mode(folder.path(), 0o777);
    assert!(!safe_files::is_private_folder(&inner), "another one can take its place");
    mode(folder.path(), 0o1777);
    assert!(safe_files::is_private_folder(&inner));
    let link = folder.path().join("link");
    symlink(&inner, &link).unwrap();
    assert!(!safe_files::is_private_folder(&link) && !safe_files::is_private_folder(&folder.path().join("none")));
}
