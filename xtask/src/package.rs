//! Packages of the crates, as crates.io would get them.

use crate::{Outcome, root, run};
use std::process::Command;

/// The crates in the order in which they are published: each needs those before it.
pub(crate) const CRATES: [&str; 16] = [
    "limpid-core",
    "limpid-wavelet",
    "limpid-reference",
    "limpid-io",
    "limpid-metric",
    "limpid-plan",
    "limpid-exec",
    "limpid-kernel-wavelet",
    "limpid-kernel-render",
    "limpid-kernel-photo",
    "limpid-weights",
    "limpid",
    "limpid-lab",
    "limpid-scenes",
    "limpid-c",
    "limpid-cli",
];

/// Packages and builds all crates together; those that need each other are taken from the packages.
pub(crate) fn check() -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["package", "--allow-dirty"]);
    for name in CRATES {
        command.args(["-p", name]);
    }
    run(command.current_dir(root()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What crates.io asks for, and what its readers look for.
    #[test]
    fn manifests_are_complete() {
        for name in CRATES {
            let folder = root().join("crates").join(name);
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            for field in [
                "description = ",
                "license.workspace",
                "repository.workspace",
                "rust-version.workspace",
                "readme = ",
                "keywords = ",
                "categories = ",
            ] {
                assert!(manifest.contains(field), "{name}: {field}");
            }
            // crates.io takes 10 MB, and weights hardly become smaller.
            let weights = fs::read_dir(folder.join("weights")).into_iter().flatten();
            let sizes = weights.map(|file| file.unwrap().metadata().unwrap().len());
            assert!(sizes.sum::<u64>() < 9_500_000, "{name}");
            for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(folder.join(file).exists(), "{name}/{file}");
            }
            for line in manifest.lines().filter(|l| l.contains("path = \"../")) {
                assert!(line.contains("version = "), "{name}: {line}");
            }
        }
        let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        for line in workspace.lines().filter(|l| l.contains("path = \"crates/")) {
            // What is needed for tests only is left out of packages, because it has no version.
            let published = CRATES
                .iter()
                .any(|name| line.starts_with(&format!("{name} ")));
            assert_eq!(line.contains("version = "), published, "{line}");
        }
    }
}
