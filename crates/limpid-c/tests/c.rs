//! The header is that of the sources, and a C program runs with it.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `LIMPID_HEADER=write cargo test --workspace --test c` makes it again.
#[test]
fn the_header_is_made_from_the_sources() {
    let path = root().join("include/limpid.h");
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let header = builder
        .with_src(root().join("src/lib.rs"))
        .generate()
        .unwrap();
    let mut text = Vec::new();
    header.write(&mut text);
    if std::env::var("LIMPID_HEADER").is_ok_and(|v| v == "write") {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    let (kept, text) = (
        String::from_utf8(kept).unwrap(),
        String::from_utf8(text).unwrap(),
    );
    assert_eq!(
        kept, text,
        "LIMPID_HEADER=write makes include/limpid.h again"
    );
}

/// The folder of the shared library that was built with this test.
fn library() -> PathBuf {
    let name = format!(
        "{}limpid_c{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let test = std::env::current_exe().unwrap();
    let mut folders = test.ancestors().skip(1).take(2);
    folders.find(|f| f.join(&name).exists()).unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn a_c_program_denoises() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .arg(root().join("tests/program.c"))
        .arg("-I")
        .arg(root().join("include"))
        .arg("-L")
        .arg(library())
        .arg(format!("-Wl,-rpath,{}", library().display()))
        .args(["-llimpid_c", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let picture = folder.path().join("clean.exr");
    let ran = Command::new(&program)
        .arg(&picture)
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    // Drivers do not complain about a desktop that is not there.
    assert_eq!(said, "");
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with("limpid 0."));
    assert!(limpid::io::read(&picture, &limpid::io::ReadOptions::default()).is_ok());
}

/// The README's commands, with the library that was built with this test.
#[cfg(unix)]
#[test]
fn the_commands_of_the_page_run_to_the_end() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let library = library().display().to_string();
    let mut compiled = 0;
    let blocks = text.split("```sh\n").skip(1);
    for line in blocks.flat_map(|b| b.split("\n```").next().unwrap().lines()) {
        if line.starts_with("cargo ") {
            continue;
        }
        let line = line
            .replace("$PWD/target/release", &library)
            .replace("target/release", &library)
            .replace("crates/limpid-c", &root().display().to_string());
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &line]).current_dir(folder.path());
        let ran = shell.env_remove("LD_LIBRARY_PATH").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{line}\n{said}");
        compiled += usize::from(line.starts_with("cc "));
    }
    assert_eq!(compiled, 2);
    assert!(folder.path().join("clean.exr").exists());
}

/// C++ compilers read the header too.
#[cfg(unix)]
#[test]
fn the_header_is_good_for_cpp() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.cpp");
    std::fs::write(
        &source,
        "#include \"limpid.h\"\nint main() { return limpid_version() == nullptr; }\n",
    )
    .unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let built = Command::new(compiler)
        .args(["-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-I"])
        .arg(root().join("include"))
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
}
