//! Fuzzing on the stable toolchain: builds the runner of `crates/limpid-fuzz` with coverage counters, in `target/fuzz`, and starts it.

use crate::{Outcome, cargo, root, run};
use std::process::Command;

/// Counters at every edge between blocks of code, as libFuzzer uses them.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Ccodegen-units=16";

/// Fuzzes all targets, or those that are named; arguments are the runner's.
pub(crate) fn fuzz(arguments: &[String]) -> Outcome {
    // The program, for its command lines.
    cargo("build --workspace")?;
    let target = root().join("target/fuzz");
    run(
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--package", "limpid-fuzz", "--target-dir"])
            .arg(&target)
            // For the host by name: then build scripts and macros have no counters.
            .args(["--target", &host()?])
            .env("RUSTFLAGS", COVERAGE)
            .current_dir(root()),
    )?;
    let built = root().join("target/debug/limpid");
    run(Command::new(target.join(host()?).join("debug/limpid-fuzz"))
        .arg("--corpus")
        .arg(target.join("corpus"))
        .arg("--finds")
        .arg(target.join("finds"))
        .args(arguments)
        .env("LIMPID_PROGRAM", built)
        .current_dir(root()))
}

/// The machine that the compiler runs on.
/// The target that the compiler builds for.
pub(crate) fn host() -> Result<String, String> {
    let out = Command::new("rustc").arg("-vV").output();
    let out = out.map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| "rustc does not name its host".to_owned())
}
