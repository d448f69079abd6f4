//! What a trace keeps of a program's environment, and the environment of a live run.
//!
//! Traces travel, and environments hold passwords. So a trace has the names of all variables, which say how the program
//! was started, and the values of those that a run is known to depend on and that keep no secret: [`KEPT`], and what the
//! user names (`--keep-env`). A live run finds the others where it is started, as the recorded one did.

use crate::own::Origin;
use std::ffi::{OsStr, OsString};

/// Variables of the C library, of common runtimes and of shells; a name that ends in `_` stands for all that begin so.
const KEPT: [&str; 63] = [
    "ASAN_",
    "CARGO_",
    "CLICOLOR",
    "COLORTERM",
    "COLUMNS",
    "DISPLAY",
    "EDITOR",
    "GLIBC_",
    "GOMP_",
    "GTEST_",
    "G_",
    "HOME",
    "HOSTNAME",
    "HOSTTYPE",
    "KMP_",
    "LANG",
    "LANGUAGE",
    "LC_",
    "LD_",
    "LIBC_",
    "LINES",
    "LOGNAME",
    "LSAN_",
    "MAIL",
    "MALLOC_",
    "MSAN_",
    "NO_COLOR",
    "OLDPWD",
    "OMP_",
    "OPENBLAS_",
    "PAGER",
    "PATH",
    "PERL5LIB",
    "POSIXLY_CORRECT",
    "PWD",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RUSTUP_",
    "RUST_",
    "SHELL",
    "SHLVL",
    "SOURCE_DATE_EPOCH",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TSAN_",
    "TZ",
    "UBSAN_",
    "USER",
    "USERNAME",
    "VIRTUAL_ENV",
    "WINDOWID",
    "WITNESS_",
    "XDG_",
    "_",
    "witness_",
];

/// In the names of variables that keep secrets, in capitals.
const SECRET: [&str; 14] = [
    "ACCESS_KEY",
    "APIKEY",
    "API_KEY",
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "DSN",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE",
    "SECRET",
    "SIGNING_KEY",
    "TOKEN",
];

/// Whether the value of a variable is kept.
fn is_kept(name: &str, keep: &[String]) -> bool {
    let known = || {
        KEPT.iter()
            .any(|kept| name == *kept || kept.len() > 1 && kept.ends_with('_') && name.starts_with(kept))
    };
    let upper = name.to_uppercase();
    keep.iter().any(|kept| kept == name) || known() && !SECRET.iter().any(|secret| upper.contains(secret))
}

/// A variable as a trace has it: `NAME=value`, or `NAME` if the value is not kept.
pub(crate) fn entry(name: &str, value: &str, keep: &[String]) -> String {
    if is_kept(name, keep) {
        format!("{name}={value}")
    } else {
        name.to_owned()
    }
}

/// The environment of a live run of a program that was recorded in this one. What a trace from elsewhere says of the
/// loader (`LD_PRELOAD`, `LD_LIBRARY_PATH`, …) is not applied: it would run code that it brings along.
pub(crate) fn restored(entries: &[String], origin: Origin) -> Vec<(OsString, OsString)> {
    let here = |name: &str| std::env::var_os(name).map(|value| (OsString::from(name), value));
    let of_loader = |name: &str| name.starts_with("LD_") || name == "GLIBC_TUNABLES" || name == "GCONV_PATH";
    entries
        .iter()
        .filter_map(|entry| match entry.split_once('=') {
            Some((name, _)) if origin == Origin::Elsewhere && of_loader(name) => here(name),
            Some((name, value)) => Some((name.into(), value.into())),
            None => here(entry),
        })
        .collect()
}

/// Variables that the recorded run had, whose values the trace does not have, and that are not set now.
#[must_use]
pub fn unset(entries: &[String]) -> Vec<String> {
    let names = entries.iter().filter(|entry| !entry.contains('='));
    names
        .filter(|name| std::env::var_os(OsStr::new(name)).is_none())
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_of_what_is_known_to_keep_no_secret() {
        let kept = |name: &str| entry(name, "value", &["APP_THREADS".to_owned(), "APP_TOKEN".to_owned()]).contains('=');
        for name in [
            "PATH",
            "LC_ALL",
            "_",
            "OMP_NUM_THREADS",
            "witness_suite",
            "APP_THREADS",
            "APP_TOKEN",
        ] {
            assert!(kept(name), "{name}");
        }
        for name in [
            "APP_MODE",
            "_TOKEN",
            "PATHS",
            "CARGO_REGISTRY_TOKEN",
            "GITHUB_TOKEN",
            "LD_SECRET",
            "XDG_password",
        ] {
            assert!(!kept(name), "{name}");
        }
    }

    #[test]
    fn what_a_trace_from_elsewhere_says_of_the_loader_is_not_applied() {
        let entries = ["LD_PRELOAD=evil.so", "A=b", "NOT_SET_ANYWHERE_1", "PATH"].map(str::to_owned);
        let path = std::env::var_os("PATH").expect("a path");
        let names = |origin| restored(&entries, origin);
        let common = [("A".into(), "b".into()), ("PATH".into(), path)];
        assert_eq!(names(Origin::Elsewhere), common);
        assert_eq!(names(Origin::Here)[0], ("LD_PRELOAD".into(), "evil.so".into()));
        assert_eq!(names(Origin::Here)[1..], common);
        assert_eq!(unset(&entries), ["NOT_SET_ANYWHERE_1"]);
    }
}
