//! The runner itself.

use std::process::Command;

#[test]
fn inputs_run_in_a_child() {
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_limpid-fuzz"))
        .args(["pfm", "--inputs", "500", "--minutes", "0.5"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let counted = said.contains("500 inputs") && said.contains("0 finds");
    assert!(out.status.success() && counted, "{said}");
}
