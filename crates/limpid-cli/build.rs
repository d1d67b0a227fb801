//! What `limpid --version` says about this build: the commit, the target and the features.
//!
//! The commit is that of `LIMPID_COMMIT`, of the package from crates.io, or of the checkout. Only release builds ask git: the others would be
//! compiled again after every commit.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let variable = |name: &str| env::var(name).ok().filter(|v| !v.is_empty());
    println!("cargo:rerun-if-env-changed=LIMPID_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let release = variable("PROFILE").is_some_and(|p| p == "release");
    let commit = variable("LIMPID_COMMIT")
        .or_else(|| packed(Path::new(&root)))
        .or_else(|| release.then(|| checked_out(Path::new(&root))).flatten());
    let mut facts: Vec<String> = commit
        .into_iter()
        .map(|c| format!("commit {}", c.get(..9).unwrap_or(&c)))
        .collect();
    facts.extend(variable("TARGET"));
    let mut features = vec!["gpu", "io"];
    if variable("CARGO_FEATURE_WINDOW").is_some() {
        features.push("window");
    }
    facts.push(format!("features {}", features.join(" ")));
    let version = variable("CARGO_PKG_VERSION").unwrap_or_default();
    println!(
        "cargo:rustc-env=LIMPID_VERSION={version} ({})",
        facts.join(", ")
    );
}

/// The commit that `cargo package` notes in the package.
fn packed(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let after = text.split("\"sha1\"").nth(1)?;
    after.split('"').nth(1).map(str::to_owned)
}

fn checked_out(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let out = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .output()
            .ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        (out.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    // The log changes with every commit and every change of branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={}", root.join(log).display());
    }
    git(&["rev-parse", "HEAD"])
}
