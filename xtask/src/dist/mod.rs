//! Release artefacts for this machine, in `target/dist`: archives of the program and of the C library, a Debian package, a wheel, its
//! sources, the Blender extension, the npm package, an SBOM and checksums. Each one is unpacked or installed into an empty folder and tried.

mod clean;
mod describe;
mod licences;
mod npm;
mod python;

use crate::{Outcome, root, run, step};
use describe::Dependency;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The longest that a first picture may take, from the archive on, in seconds.
const FIRST: f32 = 60.0;

/// The version in the manifest of the workspace.
pub(crate) fn version(manifest: &str) -> Option<String> {
    describe::version(manifest)
}

/// The licences of everything that a crate is built from for a target.
pub(crate) fn licences_of(name: &str, target: &str) -> Result<String, String> {
    licences::of(&describe::dependencies_of(&[name], target)?)
}

/// What the artefacts are made from.
struct Release {
    version: String,
    /// `x86_64-unknown-linux-gnu`.
    target: String,
    folder: PathBuf,
}

impl Release {
    /// The name of an artefact without its extension.
    fn named(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.version, self.target)
    }

    /// An empty folder for the contents of an artefact.
    fn stage(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        made(&folder)?;
        Ok(folder)
    }
}

/// Everything, or with `--portable` what can be made on any system: the program, the wheel and the Blender extension.
pub(crate) fn dist(arguments: &[String]) -> Outcome {
    let portable = match arguments {
        [] => false,
        [only] if only == "--portable" => true,
        _ => return Err("dist takes nothing, or --portable".to_owned()),
    };
    let manifest = read(&root().join("Cargo.toml"))?;
    let release = Release {
        version: describe::version(&manifest).ok_or("Cargo.toml: no version")?,
        target: crate::fuzz::host()?,
        folder: root().join("target/dist"),
    };
    made(&release.folder)?;
    crate::cargo(match portable {
        true => "build --release --locked -p limpid-cli",
        false => "build --release --locked -p limpid-cli -p limpid-c",
    })?;
    let dependencies = describe::dependencies()?;
    let mut artefacts = Vec::new();
    step("the program", || {
        artefacts.push(program(&release, &dependencies)?);
        Ok(())
    })?;
    step("the Python module and the Blender extension", || {
        artefacts.extend(python::all(&release, &dependencies, portable)?);
        Ok(())
    })?;
    if !portable {
        all(&release, &dependencies, &mut artefacts)?;
    }
    for name in &artefacts {
        println!("xtask: target/dist/{name}");
    }
    Ok(())
}

/// What is made on Linux only, and what holds everywhere.
fn all(release: &Release, dependencies: &[Dependency], artefacts: &mut Vec<String>) -> Outcome {
    step("the C library", || {
        artefacts.push(c_library(release, dependencies)?);
        Ok(())
    })?;
    step("a Debian package", || {
        artefacts.extend(debian(release)?);
        Ok(())
    })?;
    step("the npm packages", || {
        artefacts.extend(npm::packages(release)?);
        Ok(())
    })?;
    let sbom = format!("{}.cdx.json", release.named("limpid"));
    write(
        &release.folder.join(&sbom),
        &describe::sbom(&release.version, dependencies),
    )?;
    artefacts.push(sbom);
    checksums(release, artefacts)
}

/// The stripped program with manual pages, completions and licences.
fn program(release: &Release, dependencies: &[Dependency]) -> Result<String, String> {
    let name = release.named("limpid");
    let folder = release.stage(&name)?;
    let own = format!("bin/limpid{}", std::env::consts::EXE_SUFFIX);
    let built = root().join("target/release").join(&own["bin/".len()..]);
    copy(&built, &folder.join(&own))?;
    let man = folder.join("share/man/man1");
    made(&man)?;
    run(Command::new(&built).args(["man", "--output"]).arg(&man))?;
    let shells = [
        ("bash", "share/bash-completion/completions/limpid"),
        ("zsh", "share/zsh/site-functions/_limpid"),
        ("fish", "share/fish/vendor_completions.d/limpid.fish"),
    ];
    for (shell, path) in shells {
        let text = printed(Command::new(&built).args(["completions", shell]))?;
        write(&folder.join(path), &text)?;
    }
    documents(&folder.join("share/doc/limpid"), dependencies)?;
    let archive = packed(release, &name)?;
    let begin = Instant::now();
    let tried = unpacked(release, &archive)?;
    clean::try_program(&tried.join(&name), &own)?;
    let seconds = begin.elapsed().as_secs_f32();
    println!("xtask: unpacked, and a first picture denoised, in {seconds:.1} s");
    match seconds <= FIRST {
        true => Ok(archive),
        false => Err(format!("a first picture takes more than {FIRST} s")),
    }
}

/// Licences of Limpid and of what is linked into it, and the change log.
fn documents(folder: &Path, dependencies: &[Dependency]) -> Outcome {
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(name), &folder.join(name))?;
    }
    write(
        &folder.join("THIRD-PARTY.txt"),
        &licences::of(dependencies)?,
    )
}

/// Both libraries, the header, and what `pkg-config` and CMake look for.
fn c_library(release: &Release, dependencies: &[Dependency]) -> Result<String, String> {
    let name = release.named("limpid-c");
    let folder = release.stage(&name)?;
    for library in ["liblimpid_c.so", "liblimpid_c.a"] {
        let built = root().join("target/release").join(library);
        copy(&built, &folder.join("lib").join(library))?;
    }
    let header = root().join("crates/limpid-c/include/limpid.h");
    copy(&header, &folder.join("include/limpid.h"))?;
    write(
        &folder.join("lib/pkgconfig/limpid.pc"),
        &describe::pkg_config(&release.version),
    )?;
    write(
        &folder.join("lib/cmake/Limpid/LimpidConfig.cmake"),
        describe::CMAKE,
    )?;
    documents(&folder.join("share/doc/limpid-c"), dependencies)?;
    let archive = packed(release, &name)?;
    let tried = unpacked(release, &archive)?.join(&name);
    let flags = printed(
        Command::new("pkg-config")
            .env("PKG_CONFIG_PATH", tried.join("lib/pkgconfig"))
            .args(["--cflags", "--libs", "limpid"]),
    )?;
    let program = tried.join("program");
    run(Command::new("cc")
        .arg(root().join("crates/limpid-c/tests/program.c"))
        .args(flags.split_whitespace())
        .args(["-lm", "-o"])
        .arg(&program))?;
    run(Command::new(&program)
        .arg(tried.join("clean.exr"))
        .env("LD_LIBRARY_PATH", tried.join("lib")))?;
    with_cmake(release, &tried)?;
    Ok(archive)
}

/// `find_package(Limpid)` finds the library, where CMake is installed.
fn with_cmake(release: &Release, installed: &Path) -> Outcome {
    if printed(Command::new("cmake").arg("--version")).is_err() {
        println!("xtask: CMake is not installed; LimpidConfig.cmake is not tried");
        return Ok(());
    }
    let folder = release.stage("tried-cmake")?;
    let source = root().join("crates/limpid-c/tests/program.c");
    write(
        &folder.join("CMakeLists.txt"),
        &describe::cmake_project(&source),
    )?;
    let build = folder.join("build");
    run(Command::new("cmake")
        .arg("-S")
        .arg(&folder)
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", installed.display())))?;
    run(Command::new("cmake").arg("--build").arg(&build))?;
    run(Command::new(build.join("program")).arg(folder.join("clean.exr")))
}

/// The program for Debian and its relatives, where `dpkg-deb` is installed.
fn debian(release: &Release) -> Result<Option<String>, String> {
    if printed(Command::new("dpkg-deb").arg("--version")).is_err() {
        println!("xtask: dpkg-deb is not installed; no Debian package");
        return Ok(None);
    }
    let architecture = match release.target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => return Ok(None),
    };
    let name = format!("limpid_{}_{architecture}", release.version);
    let folder = release.stage(&name)?;
    let from = release.folder.join(release.named("limpid"));
    run(Command::new("cp")
        .arg("-r")
        .arg(&from)
        .arg(folder.join("usr")))?;
    let program = fs::read(folder.join("usr/bin/limpid")).map_err(|e| e.to_string())?;
    let glibc = describe::glibc(&program).ok_or("the program names no C library")?;
    write(
        &folder.join("DEBIAN/control"),
        &describe::control(&release.version, architecture, &glibc),
    )?;
    let package = format!("{name}.deb");
    run(Command::new("dpkg-deb")
        .args(["--build", "--root-owner-group"])
        .arg(&folder)
        .arg(release.folder.join(&package)))?;
    let tried = clean::install(release, &release.folder.join(&package))?;
    clean::try_program(&tried, "usr/bin/limpid")?;
    Ok(Some(package))
}

/// A compressed archive of a stage.
fn packed(release: &Release, name: &str) -> Result<String, String> {
    let archive = format!("{name}.tar.gz");
    // GNU's options: names and order do not depend on the machine.
    let plain: &[&str] = match cfg!(target_os = "linux") {
        true => &["--owner=0", "--group=0", "--sort=name"],
        false => &[],
    };
    run(Command::new("tar")
        .args(plain)
        .args(["-czf", &archive, name])
        .current_dir(&release.folder))?;
    Ok(archive)
}

fn unpacked(release: &Release, archive: &str) -> Result<PathBuf, String> {
    let folder = release.stage("tried")?;
    // From beside it: some take the letter of a drive for a host.
    run(Command::new("tar")
        .arg("-xzf")
        .arg(format!("../{archive}"))
        .current_dir(&folder))?;
    Ok(folder)
}

fn checksums(release: &Release, artefacts: &[String]) -> Outcome {
    let text = printed(
        Command::new("sha256sum")
            .args(artefacts)
            .current_dir(&release.folder),
    )?;
    write(&release.folder.join("SHA256SUMS"), &text)
}

fn printed(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&out.stderr))),
    }
}

fn made(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Outcome {
    made(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    made(to.parent().unwrap_or(to))?;
    let copied = fs::copy(from, to);
    copied
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", from.display()))
}
