//! A Vulkan driver for the GPU tests: a real one, or the software one of Mesa.

use crate::{Outcome, run};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of driver manifests, as the Vulkan loader looks for them.
const MANIFESTS: [&str; 4] = [
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
];

/// Folders of libraries.
const LIBRARIES: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/local/lib",
    "/usr/local/nvidia/lib64",
];

/// What a driver of a real GPU needs; manifests alone are often installed without one.
const HARDWARE: [&str; 4] = [
    "/dev/dri/renderD128",
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/dxg",
];

/// In the name of the manifest of Mesa's software driver, lavapipe.
const SOFTWARE: &str = "lvp_icd";

const PACKAGES: &str = "mesa-vulkan-drivers libvulkan1";

/// Finds a driver, or installs one where that is possible.
pub(crate) fn ensure() -> Outcome {
    if !cfg!(target_os = "linux") {
        // Metal and Direct3D come with the system.
        return Ok(());
    }
    if let Some(driver) = driver() {
        println!("xtask: found {}", driver.display());
        return Ok(());
    }
    let may_install = is_root() && works("apt-get");
    if !may_install {
        return Err(format!(
            "no Vulkan driver was found, and the GPU tests need one. Install Mesa's software driver, then run this again:\n  {}",
            advice()
        ));
    }
    println!("xtask: no Vulkan driver; installing {PACKAGES}");
    apt(&["update"])?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(PACKAGES.split(' '));
    apt(&install)?;
    match driver() {
        Some(driver) => {
            println!("xtask: installed {}", driver.display());
            Ok(())
        }
        None => Err(format!(
            "{PACKAGES} were installed, but no driver is in {}",
            MANIFESTS.join(", ")
        )),
    }
}

/// The manifest of a driver that has something to drive, if the loader is there too.
fn driver() -> Option<PathBuf> {
    library("libvulkan.so.1")?;
    let hardware = HARDWARE.iter().any(|node| Path::new(node).exists());
    manifests().into_iter().find(|path| {
        let software = path.to_string_lossy().contains(SOFTWARE);
        (hardware || software) && fs::read_to_string(path).is_ok_and(|text| usable(&text, path))
    })
}

fn manifests() -> Vec<PathBuf> {
    // The loader takes only these when one of them is set.
    for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(list) = env::var_os(name) {
            return env::split_paths(&list).collect();
        }
    }
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".local/share/vulkan/icd.d"));
    let folders = MANIFESTS.iter().map(PathBuf::from).chain(home);
    let mut found: Vec<PathBuf> = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    found.sort();
    found
}

/// Whether the library that a manifest names is there.
fn usable(manifest: &str, path: &Path) -> bool {
    let Some(name) = library_path(manifest) else {
        return false;
    };
    if !name.contains('/') {
        return library(name).is_some();
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    folder.join(name).exists()
}

/// The value of `library_path`.
fn library_path(manifest: &str) -> Option<&str> {
    let (_, rest) = manifest.split_once("\"library_path\"")?;
    rest.split('"').nth(1)
}

fn library(name: &str) -> Option<PathBuf> {
    let more = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    env::split_paths(&more)
        .chain(LIBRARIES.iter().map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

pub(crate) fn works(program: &str) -> bool {
    let out = Command::new(program).arg("--version").output();
    out.is_ok_and(|out| out.status.success())
}

pub(crate) fn apt(arguments: &[&str]) -> Outcome {
    run(Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive"))
    .map_err(|error| format!("apt-get {}: {error}", arguments.join(" ")))
}

/// The command for this system's packages.
fn advice() -> String {
    let known = [
        ("apt-get", format!("sudo apt-get install -y {PACKAGES}")),
        (
            "dnf",
            "sudo dnf install -y mesa-vulkan-drivers vulkan-loader".to_owned(),
        ),
        (
            "pacman",
            "sudo pacman -S --needed vulkan-swrast vulkan-icd-loader".to_owned(),
        ),
    ];
    known
        .into_iter()
        .find(|(program, _)| works(program))
        .map_or_else(
            || format!("the packages that your system has for {PACKAGES}"),
            |(_, command)| command,
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_their_library() {
        let manifest = r#"{ "ICD": { "api_version": "1.4", "library_path" : "libvulkan_lvp.so" }, "file_format_version": "1.0.1" }"#;
        assert_eq!(library_path(manifest), Some("libvulkan_lvp.so"));
        assert_eq!(library_path("{}"), None);
        assert!(!usable(
            r#"{"library_path": "libno-such-driver.so"}"#,
            Path::new("/x.json")
        ));
        assert!(!usable(
            r#"{"library_path": "./no-such-driver.so"}"#,
            Path::new("/tmp/x.json")
        ));
    }

    #[test]
    fn a_command_is_given() {
        assert!(advice().contains("vulkan"));
    }
}
