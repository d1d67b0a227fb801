//! The program from the outside: what it writes, prints and refuses.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod batch;
mod bench;
mod browser;
mod compare;
mod convert;
#[cfg(unix)]
mod drivers;
mod dwt;
#[cfg(unix)]
mod faults;
mod film_more;
mod film_resume;
mod film_work;
mod films;
mod info_file;
mod layers;
mod mixed;
mod names;
mod page;
mod raw;
mod render;
mod sequences;
mod shell;
mod target;
mod video;
mod words;

use std::path::Path;
use std::process::{Command, Output};

/// The program in a folder, on a machine without a desktop.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_limpid"));
    command.current_dir(folder).env("TMPDIR", folder);
    for name in [
        "LIMPID_QUIET",
        "XDG_RUNTIME_DIR",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "BROWSER",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs the program in a folder; spaces separate arguments.
fn limpid(folder: &Path, line: &str) -> Output {
    command(folder).args(line.split(' ')).output().unwrap()
}

/// Runs a command that must succeed; gives its standard output.
fn works(folder: &Path, line: &str) -> String {
    let out = limpid(folder, line);
    assert!(out.status.success(), "{line}: {}", said(&out));
    String::from_utf8(out.stdout).unwrap()
}

/// What a run wrote to standard error.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
