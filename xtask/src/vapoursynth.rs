//! Tests of the plugin for VapourSynth: a virtual environment in `target/vapoursynth`, with the plugin installed from its wheel.

use crate::python::{target, works};
use crate::{Outcome, cargo, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests need.
const PACKAGES: [&str; 4] = ["vapoursynth", "vapoursynth-bestsource", "numpy", "pytest"];

/// Interpreters that may be new enough: VapourSynth needs Python 3.12.
const NAMES: [&str; 5] = [
    "python3.14",
    "python3.13",
    "python3.12",
    "python3",
    "python",
];

/// Builds the plugin and the program and runs the tests.
pub(crate) fn test(arguments: &[String]) -> Outcome {
    cargo(crate::python::BUILD)?;
    test_built(arguments)
}

/// Runs the tests of the plugin that was built; says in one line what is missing where that cannot be.
pub(crate) fn test_built(arguments: &[String]) -> Outcome {
    let python = match environment() {
        Ok(python) => python,
        Err(missing) => {
            println!("xtask: the tests of the VapourSynth plugin are left out: {missing}");
            return Ok(());
        }
    };
    let folder = root().join("target/vapoursynth/wheel");
    let library = target().join("debug").join(library());
    let packed = Command::new(&python)
        .arg(root().join("crates/limpid-vapoursynth/wheel.py"))
        .arg(library)
        .arg("--output")
        .arg(&folder)
        .output();
    let packed = packed.map_err(|error| format!("wheel.py: {error}"))?;
    let wheel = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    if !packed.status.success() {
        return Err(String::from_utf8_lossy(&packed.stderr).into_owned());
    }
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--force-reinstall",
        "--no-deps",
        &wheel,
    ];
    if !works(&python, &install) {
        return Err(format!("pip cannot install {wheel}"));
    }
    let program = format!("limpid{}", std::env::consts::EXE_SUFFIX);
    run(Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(root().join("crates/limpid-vapoursynth/tests"))
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LIMPID", target().join("debug").join(program))
        .env("LIMPID_SOURCE", root()))
}

fn library() -> String {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{prefix}limpid_vapoursynth{suffix}")
}

/// The interpreter of a virtual environment with all packages, or what is missing.
fn environment() -> Result<PathBuf, String> {
    let folder = root().join("target/vapoursynth/python");
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    if !python.exists() {
        let new = "import sys; sys.exit(sys.version_info < (3, 12))";
        let name = NAMES
            .into_iter()
            .find(|name| works(Path::new(name), &["-c", new]));
        let name = name.ok_or("it needs Python 3.12 or newer")?;
        let made = Command::new(name)
            .args(["-m", "venv"])
            .arg(&folder)
            .output();
        if !made.is_ok_and(|out| out.status.success()) {
            return Err(format!("{name} -m venv fails"));
        }
    }
    if !works(&python, &["-c", "import vapoursynth, numpy, pytest"]) {
        println!("xtask: installing {}", PACKAGES.join(", "));
        let mut install = vec![
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        install.extend(PACKAGES);
        if !works(&python, &install) {
            return Err(format!("pip cannot install {}", PACKAGES.join(", ")));
        }
    }
    Ok(python)
}
