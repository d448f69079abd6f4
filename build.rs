//! Builds the runtime that `witness record` puts into programs, so that the tool can carry it
//! inside itself: `cargo install` alone gives a working recorder.
//!
//! The runtime is a shared object that defines malloc and pthread_*; cargo has no way yet to
//! depend on one, so a cargo of its own builds it, into this package's output folder.

use std::env;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The only platform that the runtime is for.
const PLATFORM: (&str, &str, &str) = ("x86_64", "linux", "gnu");

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=recorders");
    println!("cargo:rerun-if-changed=event-coding");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let embedded = out.join("runtime.so");
    let variable = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let platform = (variable("ARCH"), variable("OS"), variable("ENV"));
    if (platform.0.as_str(), platform.1.as_str(), platform.2.as_str()) == PLATFORM {
        std::fs::copy(build(&out.join("runtime"))?, &embedded)?;
    } else {
        std::fs::write(&embedded, [])?;
    }
    // Names the folder that it is unpacked to: another build has another name.
    let mut hasher = DefaultHasher::new();
    std::fs::read(&embedded)?.hash(&mut hasher);
    println!("cargo:rustc-env=WITNESS_RUNTIME_HASH={:016x}", hasher.finish());
    Ok(())
}

/// Builds the runtime; its path.
fn build(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    // Everything is downloaded already: the tool itself depends on all that the runtime needs.
    // Without a lock file of its own (`cargo install`), versions may differ; then ask the registry.
    if !cargo(folder, true)? && !cargo(folder, false)? {
        return Err("the recorder's runtime does not build, see above".into());
    }
    Ok(folder
        .join(env::var("TARGET")?)
        .join("release")
        .join("librecorder_native.so"))
}

fn cargo(folder: &Path, offline: bool) -> Result<bool, Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .args(["build", "--release", "--package", "recorder-native", "--target"])
        .arg(env::var("TARGET")?);
    cargo
        .arg("--manifest-path")
        .arg(Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder);
    if offline {
        cargo.arg("--offline");
    }
    // One build whatever the outer one is: no clippy, no coverage, no debugging aids in the hooks.
    for name in [
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        cargo.env_remove(name);
    }
    for (setting, value) in [
        ("LTO", "fat"),
        ("CODEGEN_UNITS", "1"),
        ("DEBUG", "false"),
        ("STRIP", "symbols"),
    ] {
        cargo.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
    }
    Ok(cargo.status()?.success())
}
