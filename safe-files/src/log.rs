//! Files that are there already: opened only if they are what we would have made.

use crate::draft::Readers;
use crate::refused;
use rustix::fs::{OFlags, fcntl_setfl, fstatfs};
use rustix::process::geteuid;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Neither follows a link nor waits for a pipe's other end.
fn flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
}

/// What the system says of a link that is not followed helps nobody.
fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file =
        options
            .custom_flags(flags())
            .open(path)
            .map_err(|error| match rustix::io::Errno::from_io_error(&error) {
                Some(rustix::io::Errno::LOOP) => refused("it is a symbolic link, and links are not followed here"),
                _ => error,
            })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused("it is no regular file"))
    }
}

/// Opens a file to change it in place: one that is the caller's, and that no other name leads to.
///
/// # Errors
/// If it cannot be opened, or is something else.
pub fn open_to_change(path: &Path) -> io::Result<File> {
    let file = opened(OpenOptions::new().read(true).write(true), path)?;
    let about = file.metadata()?;
    // None, if somebody has removed it meanwhile.
    if about.nlink() > 1 {
        return Err(refused("it has another name, too (a hard link); remove it"));
    }
    if about.uid() != geteuid().as_raw() {
        return Err(refused("it belongs to another user"));
    }
    Ok(file)
}

/// How often others may make a file and remove it again between two looks.
const TRIES: u32 = 1000;

/// As [`open_to_change`]; a file that is not there is made. None is replaced: somebody may have locked it.
///
/// # Errors
/// As [`open_to_change`]; or if others make the file and remove it again and again.
pub fn open_log(path: &Path, readers: Readers) -> io::Result<File> {
    for _ in 0..TRIES {
        match open_to_change(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let new = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(if readers == Readers::Owner { 0o600 } else { 0o666 })
            .custom_flags(flags())
            .open(path);
        match new {
            // Somebody else was quicker: it is there now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
    }
    Err(refused("it is made and removed again and again"))
}

/// Adds to the end of a file, in one write: several processes may do so at once.
///
/// # Errors
/// As [`open_to_change`]; or if it cannot be written.
pub fn append(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut file = open_log(path, readers)?;
    fcntl_setfl(&file, OFlags::APPEND)?;
    file.write_all(bytes)
}

/// What the system tells of itself and of processes, as files.
const PSEUDO: [u32; 12] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0xcafe_4a11, // bpf
    0xf97c_ff8c, // selinux
];

/// Opens a file that somebody else names, of up to `most` bytes: links are followed, but it must be a regular file of a
/// disk, neither a device nor a pipe, nor what the system tells of itself and of processes.
///
/// # Errors
/// If it cannot be opened, or is none of these.
pub fn open_named(path: &Path, most: u64) -> io::Result<File> {
    // Before it is opened: that alone can do something to a device.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("it is no regular file"));
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(refused("it is no regular file"));
    }
    if PSEUDO.contains(&(fstatfs(&file)?.f_type as u32)) {
        return Err(refused("it is none of a disk, but what the system tells of itself"));
    }
    if about.len() > most {
        return Err(refused("it is too large"));
    }
    Ok(file)
}

/// Reads a file as [`open_named`] opens it.
///
/// # Errors
/// As [`open_named`], or if it cannot be read.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_named(path, most)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads all that comes from a file, a pipe or a device that the user names, up to `most` bytes.
///
/// # Errors
/// If it cannot be read, or more comes.
pub fn read_given(mut given: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    given.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!(
            "it is longer than {} MiB, which is more than is read of such a file",
            most >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a file of up to `most` bytes.
///
/// # Errors
/// If it cannot be read, is a link or no regular file, or is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = opened(OpenOptions::new().read(true), path)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(refused("it is longer than any that witness writes"));
    }
    Ok(bytes)
}

/// Whether a file holds exactly these bytes. It is compared piece by piece: a copy of a large one takes the kernel longer
/// to find memory for than the comparison itself.
///
/// # Errors
/// If it cannot be read, or is a link or no regular file.
pub fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    const PIECE: usize = 64 << 10;
    let mut file = opened(OpenOptions::new().read(true), path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut piece = vec![0; PIECE.min(bytes.len())];
    for wanted in bytes.chunks(PIECE) {
        let found = &mut piece[..wanted.len()];
        match file.read_exact(found) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if found != wanted {
            return Ok(false);
        }
    }
    // It may have grown meanwhile.
    Ok(file.read(&mut [0])? == 0)
}
