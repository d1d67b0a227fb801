//! One set of features: tests of one crate build its dependencies as tests of the whole workspace do, and so reuse them.

use crate::root;
use std::collections::BTreeSet;
use std::process::Command;

/// The dependencies of a crate's tests with their features, or of all of them.
fn tree(selected: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args([
            "tree",
            "--locked",
            "--edges",
            "normal,build,dev",
            "--prefix",
            "none",
        ])
        .args(["--format", "{p} {f}"])
        .args(selected)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8_lossy(&out.stdout);
    let lines = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned());
    // Crates of the workspace have a path.
    lines
        .filter(|line| !line.is_empty() && !line.contains("(/"))
        .collect()
}

#[test]
fn tests_of_one_crate_reuse_what_all_tests_build() {
    let all = tree(&["--workspace"]);
    for name in [
        "limpid-core",
        "limpid-io",
        "limpid-plan",
        "limpid-exec",
        "limpid",
        "limpid-cli",
    ] {
        let own = tree(&["--package", name]);
        let different: Vec<&String> = own.difference(&all).collect();
        assert!(
            different.is_empty(),
            "{name} builds dependencies with other features than the workspace; add those of the workspace to \
             crates/limpid-features/Cargo.toml: {different:?}"
        );
    }
}
