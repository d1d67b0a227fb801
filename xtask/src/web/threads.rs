//! The package with threads: a second module, whose memory workers share.
//!
//! Shared memory can only be linked if everything is built with atomic instructions. The standard library that rustup provides for browsers
//! is not, so it is built here from its source, by the compiler that builds everything else. That takes an option of nightly compilers, which
//! `RUSTC_BOOTSTRAP` lets a stable one use.

use super::{TARGET, bind, filled, folder, pack};
use crate::{cargo_path, root, run, step};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the package that are as they are in the repository, with their names there.
const FILES: [(&str, &str); 5] = [
    ("crates/limpid-web/js/threads.js", "threads.js"),
    ("crates/limpid-web/js/worker.js", "worker.js"),
    ("crates/limpid-web/js/threads.d.ts", "threads.d.ts"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// Memory that is imported and shared, up to the 4 GiB that there can be, and what workers need for stacks and variables of their own.
const FLAGS: &str = "-C target-feature=+simd128,+atomics,+bulk-memory -C link-arg=--shared-memory -C link-arg=--import-memory \
     -C link-arg=--max-memory=4294967296 -C link-arg=--export=__wasm_init_tls -C link-arg=--export=__tls_size \
     -C link-arg=--export=__tls_align -C link-arg=--export=__tls_base";

/// The package, or `None` where the source of the standard library is missing and cannot be installed.
pub(crate) fn package() -> Result<Option<PathBuf>, String> {
    if !has_source() {
        let _ = run(Command::new("rustup").args(["component", "add", "rust-src"]));
    }
    if !has_source() {
        println!("xtask: the package with threads is left out: rustup component add rust-src");
        // One of an earlier build would not fit.
        let _ = fs::remove_dir_all(folder().join("limpid-threads"));
        return Ok(None);
    }
    // A folder of its own: the compiler is another one for build scripts that ask it.
    let target = root().join("target/threads");
    step("cargo build, with threads", || {
        run(Command::new(cargo_path())
            .args(["build", "--profile", "web", "--locked", "--target", TARGET])
            .args(["-Z", "build-std=std,panic_abort", "-p", "limpid-web"])
            .args(["--no-default-features", "--features", "threads"])
            .env("CARGO_TARGET_DIR", &target)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", FLAGS)
            .current_dir(root()))
    })?;
    let package = folder().join("limpid-threads");
    filled(&package, "limpid-threads", "threads.json", &FILES)?;
    let module = target.join(TARGET).join("web/limpid_web.wasm");
    bind(&package, "limpid_threads", &module)?;
    pack(
        &package,
        "limpid_threads_bg.wasm",
        "limpid-threads.wasm.lzma",
    )?;
    // It contains no crate that the other one does not.
    let licences = crate::dist::licences_of("limpid-web", TARGET)?;
    fs::write(package.join("THIRD-PARTY.txt"), licences).map_err(|e| e.to_string())?;
    Ok(Some(package))
}

/// Whether the source of this compiler's standard library is installed.
fn has_source() -> bool {
    let out = Command::new("rustc").args(["--print", "sysroot"]).output();
    out.is_ok_and(|out| {
        let text = String::from_utf8_lossy(&out.stdout);
        let library = Path::new(text.trim()).join("lib/rustlib/src/rust/library");
        library.join("std/Cargo.toml").is_file()
    })
}
