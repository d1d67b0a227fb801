//! What takes long or needs a nightly toolchain: soak runs, Miri, ThreadSanitizer.

use crate::{Outcome, root, run, step};
use std::process::Command;

/// Runs `tests/soak.rs` for a time: `--minutes N`, ten by default.
pub(crate) fn soak(arguments: &[String]) -> Outcome {
    let minutes = match arguments {
        [] => "10",
        [option, minutes] if option == "--minutes" => minutes.as_str(),
        _ => return Err("usage: cargo xtask soak [--minutes N]".to_owned()),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        .args(["test", "--workspace", "--test", "soak", "--", "--nocapture"])
        .env("LIMPID_SOAK", minutes)
        .current_dir(root()))
}

/// A command of the nightly toolchain in a folder of its own.
fn nightly(folder: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments);
    command.env("CARGO_TARGET_DIR", format!("target/{folder}"));
    // What cargo set for this program would take another compiler along.
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "CARGO"] {
        command.env_remove(name);
    }
    command.current_dir(root());
    command
}

/// The C interface and the memory of images under Miri.
pub(crate) fn miri() -> Outcome {
    step("Miri", || {
        let flags = "-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows";
        for arguments in [
            &["miri", "test", "-p", "limpid-c", "--test", "interface"][..],
            &["miri", "test", "-p", "limpid-core", "--lib", "memory::"],
            &["miri", "test", "-p", "limpid-plan", "--lib", "stream::"],
        ] {
            run(nightly("miri", arguments).env("MIRIFLAGS", flags))?;
        }
        Ok(())
    })
}

/// Threads that share a device, on the CPU: drivers are not built with ThreadSanitizer.
pub(crate) fn tsan() -> Outcome {
    step("ThreadSanitizer", || {
        let mut command = nightly(
            "tsan",
            &[
                "test",
                "-Zbuild-std",
                "--target",
                "x86_64-unknown-linux-gnu",
                "-p",
                "limpid",
                "--no-default-features",
                "--test",
                "faults",
            ],
        );
        command.env("RUSTFLAGS", "-Zsanitizer=thread");
        run(&mut command)
    })
}
