//! A browser for the tests of the page that `limpid compare --html` writes.

use crate::Outcome;
use crate::vulkan::{apt, is_root, works};
use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether tests run without a browser.
static LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// What tells the tests that there is no browser.
pub(crate) fn variable() -> Option<(&'static str, &'static str)> {
    let left_out = LEFT_OUT.load(Ordering::Relaxed);
    left_out.then_some(("LIMPID_BROWSER", "none"))
}

/// Names under which browsers are installed; the tests look for the same.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
];

/// Finds a browser, or installs one where that is possible.
pub(crate) fn ensure() -> Outcome {
    if let Some(found) = find() {
        println!("xtask: found {}", found.display());
        return Ok(());
    }
    if !(is_root() && works("apt-get")) {
        return Err(
            "no browser was found, and the tests of the page need one. Install Chromium or Chrome (on Debian and Ubuntu: \
             sudo apt-get install chromium), or name one in LIMPID_BROWSER"
                .to_owned(),
        );
    }
    println!("xtask: no browser; installing chromium");
    apt(&["update"])?;
    apt(&["install", "-y", "--no-install-recommends", "chromium"])?;
    match find() {
        Some(_) => Ok(()),
        None => Err("chromium was installed, but is not on the path".to_owned()),
    }
}

/// The same, but where none can be installed the tests of the page are left out, and that is said.
pub(crate) fn ensure_or_leave_out() -> Outcome {
    if let Err(missing) = ensure() {
        println!("xtask: the tests of the page are left out: {missing}");
        LEFT_OUT.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("LIMPID_BROWSER") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    let mut all = env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    all.find(|file| file.is_file())
}
