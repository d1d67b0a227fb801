//! The Python module as a wheel and as sources, and the Blender extension, which holds the wheel.

use super::describe::Dependency;
use super::{Release, copy, licences, printed, write};
use crate::{Outcome, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most bytes of a wheel: 11 MB of weights, which hardly compress, and 9 MB of code for three instruction sets.
const MOST: u64 = 20_000_000;

/// The interpreter that is there before there is an environment.
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// A wheel and the Blender extension, and unless they have to be `portable` the sources, where Python is; each one is tried.
pub(super) fn all(
    release: &Release,
    dependencies: &[Dependency],
    portable: bool,
) -> Result<Vec<String>, String> {
    let tools = release.folder.join("maturin");
    let there = match python(&tools).exists() {
        true => Ok(()),
        false => run(Command::new(PYTHON).args(["-m", "venv"]).arg(&tools)),
    };
    let packages = ["maturin>=1.9,<2", "zopflipy"];
    if let Err(missing) = there.and_then(|()| pip(&python(&tools), &packages)) {
        println!("xtask: no wheel: {missing}");
        return Ok(Vec::new());
    }
    let wheel = wheel(release, &tools, dependencies)?;
    let mut made = vec![extension(release, &wheel)?, wheel];
    if !portable {
        made.push(sources(release, &tools)?);
    }
    Ok(made)
}

fn python(environment: &Path) -> PathBuf {
    program(environment, "python")
}

/// A program of an environment.
fn program(environment: &Path, name: &str) -> PathBuf {
    match cfg!(windows) {
        true => environment.join("Scripts").join(format!("{name}.exe")),
        false => environment.join("bin").join(name),
    }
}

/// An empty environment.
fn environment(release: &Release, name: &str) -> Result<PathBuf, String> {
    let folder = release.stage(name)?;
    run(Command::new(PYTHON).args(["-m", "venv"]).arg(&folder))?;
    Ok(folder)
}

/// What maturin makes, in an empty folder.
fn maturin(release: &Release, tools: &Path, arguments: &[&str]) -> Result<PathBuf, String> {
    let folder = release.stage("made-by-maturin")?;
    run(Command::new(program(tools, "maturin"))
        .args(arguments)
        .arg("--manifest-path")
        .arg(root().join("python/Cargo.toml"))
        .arg("--out")
        .arg(&folder)
        .env("VIRTUAL_ENV", tools))?;
    let made = fs::read_dir(&folder).map_err(|e| e.to_string())?;
    let made: Vec<PathBuf> = made.filter_map(Result::ok).map(|e| e.path()).collect();
    match <[PathBuf; 1]>::try_from(made) {
        Ok([path]) => Ok(path),
        Err(made) => Err(format!("{} files instead of one", made.len())),
    }
}

/// Moves a file to the artefacts; gives its name.
fn taken(release: &Release, path: &Path) -> Result<String, String> {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    copy(path, &release.folder.join(&name))?;
    Ok(name)
}

/// The module for any Python from 3.10; installed into an empty environment and tried.
fn wheel(release: &Release, tools: &Path, dependencies: &[Dependency]) -> Result<String, String> {
    // Only while it is built: it would be out of date in the sources.
    let licences_file = root().join("python/limpid/THIRD-PARTY.txt");
    write(&licences_file, &licences::of(dependencies)?)?;
    let made = maturin(release, tools, &["build", "--release", "--locked"]);
    fs::remove_file(&licences_file).map_err(|e| e.to_string())?;
    let made = smaller(release, tools, &made?)?;
    let bytes = fs::metadata(&made).map_err(|e| e.to_string())?.len();
    if bytes > MOST {
        return Err(format!("the wheel has {bytes} bytes; at most {MOST}"));
    }
    let environment = environment(release, "tried-wheel")?;
    pip(&python(&environment), &[&made.to_string_lossy()])?;
    for program in [TRY_WHEEL, TRY_LICENCES] {
        run(Command::new(python(&environment)).args(["-c", program]))?;
    }
    taken(release, &made)
}

/// The same wheel, packed by a compressor that takes its time: a thirtieth less of the code.
fn smaller(release: &Release, tools: &Path, wheel: &Path) -> Result<PathBuf, String> {
    let packed = release
        .stage("packed-wheel")?
        .join(wheel.file_name().unwrap_or_default());
    run(Command::new(python(tools))
        .args(["-c", PACK])
        .args([wheel, &packed]))?;
    Ok(packed)
}

/// The sources, which pip builds and installs into an empty environment. What cargo built before of other crates is used again.
fn sources(release: &Release, tools: &Path) -> Result<String, String> {
    let made = maturin(release, tools, &["sdist"])?;
    let environment = environment(release, "tried-sources")?;
    run(Command::new(python(&environment))
        .args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--no-cache-dir"])
        .arg(&made)
        .env("CARGO_TARGET_DIR", root().join("target")))?;
    run(Command::new(python(&environment)).args(["-c", TRY_WHEEL]))?;
    taken(release, &made)
}

/// The extension for Blender. Its own tests use it in Blender; here its parts are unpacked and denoise a render of Blender.
fn extension(release: &Release, wheel: &str) -> Result<String, String> {
    let made = printed(
        Command::new(PYTHON)
            .arg(root().join("blender/build.py"))
            .arg(release.folder.join(wheel))
            .arg("--output")
            .arg(&release.folder),
    )?;
    let name = made.trim().to_owned();
    let folder = release.stage("tried-extension")?;
    run(Command::new(PYTHON)
        .args(["-m", "zipfile", "-e"])
        .arg(release.folder.join(&name))
        .arg(folder.join("extension")))?;
    run(Command::new(python(&release.folder.join("tried-wheel")))
        .args(["-c", TRY_EXTENSION])
        .arg(root().join("crates/limpid-cli/tests/renders/blender-passes.exr"))
        .current_dir(&folder))?;
    Ok(name)
}

const PACK: &str = "\
import sys, zipfile, zopfli
with zipfile.ZipFile(sys.argv[1]) as old, zopfli.ZipFile(sys.argv[2], 'w', iterations=1) as new:
    for item in old.infolist():
        new.writestr(item, old.read(item))
";

const TRY_WHEEL: &str = "\
import numpy, limpid
noisy = 0.5 + 0.1 * numpy.random.default_rng(1).standard_normal((64, 64, 3)).astype('float32')
clean = limpid.denoise(noisy)
assert clean.std() < 0.5 * noisy.std(), (clean.std(), noisy.std())
";

const TRY_LICENCES: &str = "\
import pathlib, limpid
assert 'MIT' in (pathlib.Path(limpid.__file__).parent / 'THIRD-PARTY.txt').read_text(encoding='utf-8')
";

const TRY_EXTENSION: &str = "\
import os, sys
from extension.process import Job
job = Job([{'frame': 1, 'source': sys.argv[1], 'target': os.path.abspath('clean.exr')}], {'device': 'cpu'})
job.wait()
assert not job.errors and os.path.exists('clean.exr'), job.errors
";

fn pip(python: &Path, packages: &[&str]) -> Outcome {
    run(Command::new(python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(packages))
}
