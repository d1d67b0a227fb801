//! Tests of the Python module: a virtual environment in `target/python`, the module in `target/python-module`.

use crate::{Outcome, cargo, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests need: as pip names it, and as Python does.
const PACKAGES: [(&str, &str); 9] = [
    ("numpy", "numpy"),
    ("pytest", "pytest"),
    ("PyWavelets", "pywt"),
    ("scikit-image", "skimage"),
    ("dask[array]", "dask.array"),
    ("distributed", "distributed"),
    ("mypy", "mypy"),
    ("OpenEXR", "OpenEXR"),
    ("zarr", "zarr"),
];

/// The oldest Python that the module is for.
const OLDEST: (u32, u32) = (3, 10);

const PROGRAM: &str = if cfg!(windows) {
    "limpid.exe"
} else {
    "limpid"
};

/// Everything that is built: with the targets of the tests, because their dependencies have more features, and without them the
/// library would be built again for the module. (`--all-targets` would also build the module as a test, which it is not.)
pub(crate) const BUILD: &str = "build --workspace --lib --bins --examples --tests";

/// Builds the module and runs its tests.
pub(crate) fn test(arguments: &[String]) -> Outcome {
    cargo(BUILD)?;
    test_built(environment(), arguments)
}

/// Runs the tests of the module that was built; says in one line what is missing where that cannot be.
pub(crate) fn test_built(python: Result<PathBuf, String>, arguments: &[String]) -> Outcome {
    let python = match python {
        Ok(python) => python,
        Err(missing) => {
            println!("xtask: the tests of the Python module are left out: {missing}");
            return Ok(());
        }
    };
    let module = stage().map_err(|error| format!("target/python-module: {error}"))?;
    let pytest = |folder: &Path| {
        let mut command = Command::new(&python);
        command
            .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
            .current_dir(folder)
            .env("PYTHONPATH", &module)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LIMPID_SOURCE", root());
        command
    };
    run(pytest(&module).args(arguments))?;
    if !arguments.is_empty() {
        return Ok(());
    }
    // The extension for Blender, and where there is a Blender for Python, the extension in it.
    let mut command = pytest(&root().join("blender"));
    command
        .args(["-q", "tests"])
        .env("LIMPID", target().join("debug").join(PROGRAM));
    if !works(&python, &["-c", "import bpy"]) {
        println!(
            "xtask: the tests in Blender are left out: {} -m pip install bpy",
            python.display()
        );
        command.arg("--ignore=tests/test_in_blender.py");
    }
    run(&mut command)
}

/// The interpreter of a virtual environment with all packages, or what is missing.
pub(crate) fn environment() -> Result<PathBuf, String> {
    let (name, version) = interpreter()?;
    println!("xtask: found Python {version} ({name})");
    let folder = root().join("target/python");
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    if !python.exists() {
        let made = Command::new(name)
            .args(["-m", "venv"])
            .arg(&folder)
            .output();
        if !made.is_ok_and(|out| out.status.success()) {
            return Err(format!(
                "{name} -m venv fails (on Debian and Ubuntu: apt-get install python3-venv)"
            ));
        }
    }
    let missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|(_, module)| !works(&python, &["-c", &format!("import {module}")]))
        .map(|(package, _)| *package)
        .collect();
    if !missing.is_empty() {
        println!("xtask: installing {}", missing.join(", "));
        let mut install = vec![
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        install.extend(&missing);
        if !works(&python, &install) {
            return Err(format!("pip cannot install {}", missing.join(", ")));
        }
    }
    Ok(python)
}

/// The first Python that is new enough, with its version.
fn interpreter() -> Result<(&'static str, String), String> {
    let mut old = None;
    for name in ["python3", "python"] {
        let code = "import sys; print('%d.%d' % sys.version_info[:2])";
        let Ok(out) = Command::new(name).args(["-c", code]).output() else {
            continue;
        };
        let version = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        match numbers(&version) {
            Some(found) if found >= OLDEST => return Ok((name, version)),
            Some(_) => old = Some(version),
            None => {}
        }
    }
    let wanted = format!("Python {}.{} or newer", OLDEST.0, OLDEST.1);
    Err(match old {
        Some(version) => format!("{wanted} is needed, Python {version} was found"),
        None => format!("{wanted} was not found"),
    })
}

/// The numbers of `3.11`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root().join(folder)
}

pub(crate) fn works(program: &Path, arguments: &[&str]) -> bool {
    let out = Command::new(program).args(arguments).output();
    out.is_ok_and(|out| out.status.success())
}

/// Puts the built module, its Python files and its tests into one folder, as a wheel would.
fn stage() -> std::io::Result<PathBuf> {
    let module = root().join("target/python-module");
    if module.exists() {
        fs::remove_dir_all(&module)?;
    }
    for folder in ["limpid", "tests"] {
        copy(&root().join("python").join(folder), &module.join(folder))?;
    }
    fs::copy(
        root().join("python/pyproject.toml"),
        module.join("pyproject.toml"),
    )?;
    let (built, name) = if cfg!(windows) {
        ("limpid_python.dll", "_limpid.pyd")
    } else if cfg!(target_os = "macos") {
        ("liblimpid_python.dylib", "_limpid.abi3.so")
    } else {
        ("liblimpid_python.so", "_limpid.abi3.so")
    };
    fs::copy(
        target().join("debug").join(built),
        module.join("limpid").join(name),
    )?;
    Ok(module)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            fs::copy(entry.path(), target)?;
        } else if entry.file_name() != "__pycache__" {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_numbers() {
        assert_eq!(super::numbers("3.11"), Some((3, 11)));
        assert!(super::numbers("3.9") < Some(super::OLDEST));
        assert_eq!(super::numbers("no"), None);
    }
}
