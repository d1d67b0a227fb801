//! ffmpeg for the tests of films.

use crate::Outcome;
use crate::vulkan::{apt, is_root, works};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether tests run without ffmpeg.
static LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// What tells the tests that there is no ffmpeg.
pub(crate) fn variable() -> Option<(&'static str, &'static str)> {
    let left_out = LEFT_OUT.load(Ordering::Relaxed);
    left_out.then_some(("LIMPID_FFMPEG", "none"))
}

/// Finds ffmpeg, or installs it where that is possible.
fn ensure() -> Outcome {
    if is_there() {
        return Ok(());
    }
    if !(is_root() && works("apt-get")) {
        return Err(
            "ffmpeg and ffprobe were not found, and the tests of films need them (on Debian and Ubuntu: \
             sudo apt-get install ffmpeg)"
                .to_owned(),
        );
    }
    println!("xtask: no ffmpeg; installing it");
    apt(&["update"])?;
    apt(&["install", "-y", "--no-install-recommends", "ffmpeg"])?;
    match is_there() {
        true => Ok(()),
        false => Err("ffmpeg was installed, but is not on the path".to_owned()),
    }
}

fn is_there() -> bool {
    // Both print their version, whatever else they are asked for.
    ["ffmpeg", "ffprobe"].iter().all(|program| {
        let out = std::process::Command::new(program).arg("-version").output();
        out.is_ok_and(|out| out.status.success())
    })
}

/// The same, but where it cannot be installed the tests of films are left out, and that is said.
pub(crate) fn ensure_or_leave_out() -> Outcome {
    if let Err(missing) = ensure() {
        println!("xtask: the tests of films are left out: {missing}");
        LEFT_OUT.store(true, Ordering::Relaxed);
    }
    Ok(())
}
