//! Release artefacts for this machine, in `target/dist`: archives of the program and of the C library, a Debian package, a wheel, its
//! sources, the Blender extension, an SBOM and checksums. Each one is unpacked or installed into an empty folder and tried.

mod clean;
mod describe;
mod licences;
mod python;

use crate::{Outcome, root, run, step};
use describe::Dependency;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

pub(crate) fn dist() -> Outcome {
    let manifest = read(&root().join("Cargo.toml"))?;
    let release = Release {
        version: describe::version(&manifest).ok_or("Cargo.toml: no version")?,
        target: crate::fuzz::host()?,
        folder: root().join("target/dist"),
    };
    made(&release.folder)?;
    crate::cargo("build --release --locked -p limpid-cli -p limpid-c")?;
    let dependencies = describe::dependencies()?;
    let mut artefacts = Vec::new();
    step("the program", || {
        artefacts.push(program(&release, &dependencies)?);
        Ok(())
    })?;
    step("the C library", || {
        artefacts.push(c_library(&release, &dependencies)?);
        Ok(())
    })?;
    step("a Debian package", || {
        artefacts.extend(debian(&release)?);
        Ok(())
    })?;
    step("the Python module and the Blender extension", || {
        artefacts.extend(python::all(&release)?);
        Ok(())
    })?;
    let sbom = format!("limpid-{}.cdx.json", release.version);
    write(
        &release.folder.join(&sbom),
        &describe::sbom(&release.version, &dependencies),
    )?;
    artefacts.push(sbom);
    checksums(&release, &artefacts)?;
    for name in &artefacts {
        println!("xtask: target/dist/{name}");
    }
    Ok(())
}

/// The stripped program with manual pages, completions and licences.
fn program(release: &Release, dependencies: &[Dependency]) -> Result<String, String> {
    let name = release.named("limpid");
    let folder = release.stage(&name)?;
    let built = root().join("target/release/limpid");
    copy(&built, &folder.join("bin/limpid"))?;
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
    let tried = unpacked(release, &archive)?;
    clean::try_program(&tried.join(&name), "bin/limpid")?;
    Ok(archive)
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
    run(Command::new("tar")
        .args([
            "--owner=0",
            "--group=0",
            "--sort=name",
            "-czf",
            &archive,
            name,
        ])
        .current_dir(&release.folder))?;
    Ok(archive)
}

fn unpacked(release: &Release, archive: &str) -> Result<PathBuf, String> {
    let folder = release.stage("tried")?;
    run(Command::new("tar")
        .arg("-xzf")
        .arg(release.folder.join(archive))
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
