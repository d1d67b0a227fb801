//! A root folder with nothing in it but what is installed and the libraries of the system that it is linked to.

use super::{Release, copy, describe, made, printed};
use crate::vulkan::is_root;
use crate::{Outcome, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs a Debian package into an empty root, with dpkg itself.
pub(super) fn install(release: &Release, package: &Path) -> Result<PathBuf, String> {
    let folder = release.stage("tried-deb")?;
    if !is_root() {
        // Only root may install.
        run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&folder))?;
        return Ok(folder);
    }
    for name in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        made(&folder.join(name))?;
    }
    super::write(&folder.join("var/lib/dpkg/status"), "")?;
    // What it depends on is not registered there.
    run(Command::new("dpkg")
        .arg(format!("--root={}", folder.display()))
        .args(["--force-depends", "--install"])
        .arg(package))?;
    Ok(folder)
}

/// A picture goes in, a cleaner one comes out; `program` is a path in the root. Where this process may, the root is the only thing that the
/// program sees.
pub(super) fn try_program(root: &Path, program: &str) -> Outcome {
    let own = root.join(program);
    let (noisy, clean) = ("noisy.pfm", "clean.exr");
    fs::write(root.join(noisy), describe::noisy_picture()).map_err(|e| e.to_string())?;
    let mut command = match is_root() {
        true => {
            for library in libraries(&own)? {
                let inside = library.strip_prefix("/").unwrap_or(&library);
                copy(&library, &root.join(inside))?;
            }
            let mut command = Command::new("chroot");
            command.arg(root).arg(format!("/{program}"));
            command
        }
        false => {
            let mut command = Command::new(&own);
            command.current_dir(root);
            command
        }
    };
    // Programs do not start on Windows without some of its variables.
    if !cfg!(windows) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path);
    }
    run(command
        .args(["denoise", noisy, "-o", clean])
        .args(["--device", "cpu", "--quiet"]))?;
    let there = fs::metadata(root.join(clean)).is_ok_and(|m| m.len() > 0);
    there
        .then_some(())
        .ok_or_else(|| "no picture was written".to_owned())
}

/// The libraries that a program is linked to, and the one that loads them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, String> {
    let text = printed(Command::new("ldd").arg(program))?;
    Ok(listed(&text))
}

/// The paths in what `ldd` prints.
fn listed(text: &str) -> Vec<PathBuf> {
    let words = text.split_whitespace().filter(|w| w.starts_with('/'));
    words.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn libraries_are_found() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let found = super::listed(text);
        assert_eq!(found.len(), 2);
        assert!(found[1].ends_with("ld-linux-x86-64.so.2"));
    }
}
