//! Whether a file is one that this user's `witness` wrote here, or came from somewhere else.
//!
//! A trace says which program it is of, and where that lies; what is stored beside it says what is decided. Both may have
//! been made by somebody who wants a program to be run, a file to be shown, or a race not to be seen. Nothing in such a
//! file can prove that it is none of these, so what proves it is elsewhere: in a folder that only the user can write to,
//! `$XDG_STATE_HOME/witness` or `~/.local/state/witness`. It holds a random key, and the seals of the traces that were
//! recorded. A seal is the keyed BLAKE3 digest of the whole content, so nobody without the key can make one, and a trace
//! may be renamed, moved and copied.
//!
//! Without such a folder (no home, or one that others can write to) nothing is known to be the user's own.

mod sealed_trace;

use blake3::Hasher;
use safe_files::{Readers, is_private_file, is_private_folder};
use std::collections::HashSet;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub(crate) use sealed_trace::SealedTrace;

const KEY: &str = "key";
const RECORDED: &str = "recorded";
/// Bytes of a key and of a seal.
const LEN: usize = 32;
/// Of so many bytes of seals, the older half is forgotten: 131,072 recordings.
const MOST: u64 = (1 << 17) * LEN as u64;

/// The keyed digest of something.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seal([u8; LEN]);

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each decision that is written has one, and to format byte by byte takes longer than to make it.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        let hex: String = digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect();
        f.write_str(&hex)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({self})")
    }
}

impl Seal {
    fn of(hasher: &Hasher) -> Seal {
        Seal(*hasher.finalize().as_bytes())
    }
}

/// What is known of the user's own files.
#[derive(Debug)]
pub struct Own {
    folder: PathBuf,
    key: [u8; LEN],
}

impl Own {
    /// That of the user who runs this; `None` if there is no folder that only they can write to.
    #[must_use]
    pub fn of_user() -> Option<&'static Own> {
        static OF_USER: OnceLock<Option<Own>> = OnceLock::new();
        OF_USER
            .get_or_init(|| {
                let folder = folder()?;
                let own = Own::at(&folder).inspect_err(|error| {
                    tracing::info!(folder = %folder.display(), %error, "nothing is known to be recorded here");
                });
                own.ok()
            })
            .as_ref()
    }

    /// In a folder, which is made.
    ///
    /// # Errors
    /// If it cannot be used, or others can write to it.
    pub fn at(folder: &Path) -> io::Result<Own> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if !is_private_folder(folder) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "others can write to it, or to a folder above it",
            ));
        }
        let path = folder.join(KEY);
        if !path.exists() {
            make_key(&path)?;
        }
        if !is_private_file(&path) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "others can write to its key",
            ));
        }
        let key = safe_files::read(&path, LEN as u64)?;
        let key = <[u8; LEN]>::try_from(key).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Own {
            folder: folder.to_owned(),
            key,
        })
    }

    /// The seal of some parts, for one purpose.
    #[must_use]
    pub fn seal(&self, purpose: &str, parts: &[&[u8]]) -> Seal {
        let mut hasher = self.hasher(purpose);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Seal::of(&hasher)
    }

    /// The seal of a trace's file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn seal_of_trace(&self, trace: &Path) -> io::Result<Seal> {
        let file = File::open(trace)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.seal_of_file(file)
    }

    fn seal_of_file(&self, mut file: File) -> io::Result<Seal> {
        let mut hasher = self.trace_hasher();
        let mut room = vec![0; 1 << 20];
        loop {
            match file.read(&mut room) {
                Ok(0) => break,
                Ok(read) => drop(hasher.update(&room[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Seal::of(&hasher))
    }

    /// A trace was recorded here. In a folder that others can write to, something else may have its name by now: only a
    /// file of the caller's, with no other name, is taken for what was written.
    ///
    /// # Errors
    /// If it cannot be read, or that cannot be written down.
    pub fn remember(&self, trace: &Path) -> io::Result<()> {
        self.remember_seal(self.seal_of_file(safe_files::open_to_change(trace)?)?)
    }

    fn remember_seal(&self, seal: Seal) -> io::Result<()> {
        let path = self.folder.join(RECORDED);
        if fs::symlink_metadata(&path).is_ok_and(|about| about.len() >= MOST) {
            let all = safe_files::read(&path, 2 * MOST)?;
            let half = all.len() / 2 / LEN * LEN;
            safe_files::write(&path, &all[half..], Readers::Owner)?;
        }
        safe_files::append(&path, &seal.0, Readers::Owner)
    }

    /// Whether a trace was recorded here, by this user, and is as it was.
    #[must_use]
    pub fn has_recorded(&self, trace: &Path) -> bool {
        let Ok(known) = safe_files::read(&self.folder.join(RECORDED), 2 * MOST) else {
            return false;
        };
        let known: HashSet<&[u8]> = known.chunks_exact(LEN).collect();
        self.seal_of_trace(trace)
            .is_ok_and(|seal| known.contains(seal.0.as_slice()))
    }

    fn trace_hasher(&self) -> Hasher {
        self.hasher("trace")
    }

    fn hasher(&self, purpose: &str) -> Hasher {
        let mut hasher = Hasher::new_keyed(&self.key);
        hasher
            .update(&(purpose.len() as u64).to_le_bytes())
            .update(purpose.as_bytes());
        hasher
    }
}

/// A trace was recorded by the user who runs this. That this cannot be written down only costs a question later.
pub fn remember(trace: &Path) {
    if let Some(own) = Own::of_user()
        && let Err(error) = own.remember(trace)
    {
        not_remembered(trace, &error);
    }
}

fn not_remembered(trace: &Path, error: &io::Error) {
    tracing::info!(trace = %trace.display(), %error, "not known later to be recorded here");
}

/// Why nothing is known to be the user's, and what to do about it, as the end of a message; empty if something can be.
#[must_use]
pub fn hint() -> &'static str {
    if Own::of_user().is_some() {
        ""
    } else {
        " (nothing is known to be yours: neither XDG_STATE_HOME nor HOME names a folder that only you can write to)"
    }
}

/// Where a trace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is known to have been recorded here by the user who runs this.
    Here,
    /// It may come from anybody.
    Elsewhere,
}

impl Origin {
    /// That of a trace's file.
    #[must_use]
    pub fn of(trace: &Path) -> Origin {
        match Own::of_user() {
            Some(own) if own.has_recorded(trace) => Origin::Here,
            _ => Origin::Elsewhere,
        }
    }
}

fn folder() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let states = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    states.map(|states| states.join("witness"))
}

/// Makes a key, unless another process is quicker.
fn make_key(path: &Path) -> io::Result<()> {
    let mut key = [0; LEN];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let draft = safe_files::beside(path, &safe_files::random_name(""));
    safe_files::write(&draft, &key, Readers::Owner)?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safe_files::ScratchFolder;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_trace_is_known_wherever_it_lies_and_only_as_it_was() {
        let folder = ScratchFolder::new("own").unwrap();
        let (state, trace, copy) = (
            folder.path().join("state"),
            folder.path().join("a"),
            folder.path().join("b"),
        );
        let own = Own::at(&state).unwrap();
        fs::write(&trace, "a trace").unwrap();
        assert!(!own.has_recorded(&trace));
        own.remember(&trace).unwrap();
        fs::copy(&trace, &copy).unwrap();
        // Another process of the same user.
        let again = Own::at(&state).unwrap();
        assert!(again.has_recorded(&trace) && again.has_recorded(&copy));
        fs::write(&copy, "a trace!").unwrap();
        assert!(!again.has_recorded(&copy) && !again.has_recorded(&folder.path().join("none")));
        // Another user has another key: what they know is nothing here.
        let other = folder.path().join("other");
        let others = Own::at(&other).unwrap();
        fs::copy(state.join(RECORDED), other.join(RECORDED)).unwrap();
        assert!(!others.has_recorded(&trace));
        assert_ne!(own.seal("x", &[b"ab", b"c"]), own.seal("x", &[b"a", b"bc"]));
        assert_ne!(own.seal("x", &[b"a"]), own.seal("y", &[b"a"]));
    }

    #[test]
    fn what_took_the_name_of_a_trace_is_not_remembered_as_recorded() {
        let folder = ScratchFolder::new("own-swapped").unwrap();
        let own = Own::at(&folder.path().join("state")).unwrap();
        let (foreign, trace) = (folder.path().join("foreign"), folder.path().join("trace"));
        fs::write(&foreign, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&foreign, &trace).unwrap();
        assert!(own.remember(&trace).is_err());
        fs::remove_file(&trace).unwrap();
        fs::hard_link(&foreign, &trace).unwrap();
        assert!(own.remember(&trace).is_err());
        assert!(!own.has_recorded(&foreign));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let folder = ScratchFolder::new("own-open").unwrap();
        let state = folder.path().join("state");
        drop(Own::at(&state).unwrap());
        assert_eq!(
            fs::metadata(state.join(KEY)).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let (open, closed) = (fs::Permissions::from_mode(0o777), fs::Permissions::from_mode(0o700));
        fs::set_permissions(&state, open.clone()).unwrap();
        assert!(Own::at(&state).is_err());
        fs::set_permissions(&state, closed).unwrap();
        assert!(Own::at(&state).is_ok());
        fs::set_permissions(state.join(KEY), open).unwrap();
        assert!(Own::at(&state).is_err());
    }

    #[test]
    fn old_recordings_are_forgotten() {
        let folder = ScratchFolder::new("own-many").unwrap();
        let own = Own::at(folder.path()).unwrap();
        let list = folder.path().join(RECORDED);
        let half = MOST as usize / 2;
        fs::write(&list, [vec![1; half], vec![2; half]].concat()).unwrap();
        let trace = folder.path().join("a");
        fs::write(&trace, "a trace").unwrap();
        own.remember(&trace).unwrap();
        let left = fs::read(&list).unwrap();
        assert_eq!(left.len(), half + LEN);
        assert!(
            left[..half].iter().all(|&byte| byte == 2),
            "the older half is forgotten"
        );
        assert!(own.has_recorded(&trace));
    }
}
