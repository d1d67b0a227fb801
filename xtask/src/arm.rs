//! The tests on 64-bit ARM, whose SIMD code no other machine runs: built here, run under QEMU.

use crate::vulkan::{apt, is_root, works};
use crate::{Outcome, cargo_path, root, run, step};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Parts of the library without devices, and the methods on the CPU. Drivers of GPUs are not emulated.
const PARTS: [&[&str]; 2] = [
    &[
        "-p",
        "limpid-core",
        "-p",
        "limpid-wavelet",
        "-p",
        "limpid-plan",
        "-p",
        "limpid-kernel-photo",
        "-p",
        "limpid-kernel-render",
        "-p",
        "limpid-kernel-wavelet",
    ],
    &[
        "-p",
        "limpid",
        "--no-default-features",
        "--features",
        "best-weights,filters,io,webp",
        "--test",
        "methods",
    ],
];

/// Runs them; arguments are those of the test programs, such as `conformance::eaw`.
pub(crate) fn test(arguments: &[String]) -> Outcome {
    ensure()?;
    for part in PARTS {
        // A filter is for the methods.
        if !arguments.is_empty() && !part.contains(&"limpid") {
            continue;
        }
        step(&format!("cargo test {}", part.join(" ")), || {
            let linker = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
            let runner = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";
            run(Command::new(cargo_path())
                .args(["test", "--locked", "--target", TARGET])
                .args(part)
                .arg("--")
                .args(arguments)
                .env(linker, LINKER)
                .env(runner, format!("{EMULATOR} -L /usr/aarch64-linux-gnu"))
                .current_dir(root()))
        })?;
    }
    Ok(())
}

/// The standard library, a linker and the emulator.
fn ensure() -> Outcome {
    run(Command::new("rustup").args(["target", "add", TARGET]))?;
    if works(LINKER) && works(EMULATOR) {
        return Ok(());
    }
    let packages = [
        "gcc-aarch64-linux-gnu",
        "libc6-dev-arm64-cross",
        "qemu-user",
    ];
    if !(is_root() && works("apt-get")) {
        return Err(format!(
            "missing: on Debian and Ubuntu, sudo apt-get install {}",
            packages.join(" ")
        ));
    }
    apt(&["update"])?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    apt(&install)
}
