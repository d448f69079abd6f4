//! How the runtime is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Programs ask for libtsan by this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtsan.so.2");
    // Threads run its code until the process is gone: a dlclose must not unmap it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
