//! Limpid for browsers: the npm package and the page, in `target/browser`.

pub(crate) mod threads;

use crate::{Outcome, cargo, root, run, step};
use lzma_rust2::{LzmaOptions, LzmaWriter};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// The target of unit tests: the same instructions, with files and a clock.
const UNIT: &str = "wasm32-wasip1";

/// Crates whose unit tests run in WebAssembly: they need neither threads nor devices.
const UNITS: [&str; 3] = ["limpid-core", "limpid-wavelet", "limpid-plan"];

/// Files of the package that are as they are in the repository, with their names there.
const FILES: [(&str, &str); 6] = [
    ("crates/limpid-web/js/limpid.js", "limpid.js"),
    ("crates/limpid-web/js/unpack.js", "unpack.js"),
    ("crates/limpid-web/js/limpid.d.ts", "limpid.d.ts"),
    ("crates/limpid-web/README.md", "README.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// Those of the package with the larger network, which few pages need.
const WEIGHTS: [(&str, &str); 3] = [
    ("crates/limpid/weights/best.safetensors", "best.safetensors"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// What the tests of the example run with.
const THREE: &str = "three@0.187.0";

/// The compiler of TypeScript that checks the types of the package.
const TYPESCRIPT: &str = "typescript@5.9";

/// Programs for Node.
const TESTS: [&str; 2] = [
    "crates/limpid-web/tests/node.test.mjs",
    "crates/limpid-web/tests/browser.test.mjs",
];

/// One for the package with threads.
const THREADS: &str = "crates/limpid-web/tests/threads.test.mjs";

/// For the server of the npm package `serve`: headers of an isolated page, which threads need.
const ISOLATED: &str = r#"{ "headers": [{ "source": "**", "headers": [
  { "key": "Cross-Origin-Opener-Policy", "value": "same-origin" },
  { "key": "Cross-Origin-Embedder-Policy", "value": "require-corp" }
] }] }
"#;

/// Builds everything; with `--test`, the tests follow: in Node, and in a browser.
pub(crate) fn web(arguments: &[String]) -> Outcome {
    let tests = match arguments {
        [] => false,
        [only] if only == "--test" => true,
        _ => return Err("web takes nothing, or --test".to_owned()),
    };
    let package = package()?;
    let threads = threads::package()?;
    let out = folder();
    page(&out)?;
    println!("xtask: {}", out.display());
    match tests {
        true => test(&package, threads.is_some()),
        false => Ok(()),
    }
}

/// Where the page and the package are built.
fn folder() -> PathBuf {
    root().join("target/browser")
}

/// The npm package in a folder of its own.
pub(crate) fn package() -> Result<PathBuf, String> {
    installed(TARGET)?;
    cargo(&format!(
        "build --profile web --locked --target {TARGET} -p limpid-web"
    ))?;
    let package = folder().join("limpid");
    filled(&package, "limpid", "package.json", &FILES)?;
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let module = built.join(TARGET).join("web/limpid_web.wasm");
    bind(&package, "limpid_web", &module)?;
    pack(&package, "limpid_web_bg.wasm", "limpid.wasm.lzma")?;
    let licences = crate::dist::licences_of("limpid-web", TARGET)?;
    fs::write(package.join("THIRD-PARTY.txt"), licences).map_err(|e| e.to_string())?;
    weights()?;
    Ok(package)
}

/// The package with the larger network.
pub(crate) fn weights() -> Result<PathBuf, String> {
    let package = folder().join("limpid-weights");
    filled(&package, "limpid-weights", "weights.json", &WEIGHTS)?;
    Ok(package)
}

/// A package with files of the repository and its description.
fn filled(package: &Path, name: &str, facts: &str, files: &[(&str, &str)]) -> Outcome {
    // What an earlier build left there would be packed too.
    let _ = fs::remove_dir_all(package);
    fs::create_dir_all(package).map_err(|e| format!("{}: {e}", package.display()))?;
    for (from, to) in files {
        fs::copy(root().join(from), package.join(to)).map_err(|e| format!("{from}: {e}"))?;
    }
    let read =
        |name: &str| fs::read_to_string(root().join(name)).map_err(|e| format!("{name}: {e}"));
    let own = read(&format!("crates/limpid-web/js/{facts}"))?;
    let text = described(&own, name, &read("Cargo.toml")?)?;
    fs::write(package.join("package.json"), text).map_err(|e| e.to_string())
}

/// The description of the package, with the version of the workspace. The order of its lines has a meaning and stays.
fn described(text: &str, name: &str, manifest: &str) -> Result<String, String> {
    let version = crate::dist::version(manifest).ok_or("Cargo.toml: no version")?;
    let name = format!("\"name\": \"{name}\",");
    let (before, after) = text.split_once(&name).ok_or_else(|| format!("no {name}"))?;
    Ok(format!(
        "{before}{name}\n  \"version\": \"{version}\",{}",
        after.replace("{{version}}", &version)
    ))
}

/// Whether the package compiles, where the standard library for WebAssembly is installed.
pub(crate) fn check_or_leave_out() -> Outcome {
    if !has_target(TARGET) {
        println!("xtask: the package for browsers is not checked: rustup target add {TARGET}");
        return Ok(());
    }
    cargo(&format!(
        "clippy --locked --target {TARGET} -p limpid-web -- -D warnings"
    ))
}

/// The page, with the viewer of `limpid view` and `limpid compare`.
fn page(out: &Path) -> Outcome {
    let viewer = root().join("crates/limpid-metric/src/page");
    let own = root().join("crates/limpid-web/page");
    let read = |folder: &Path, name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    let script = read(&viewer, "page.js")? + "\nexport { curve, draw, screen, show, state };\n";
    let index = read(&own, "index.html")?.replace("{{viewer}}", &read(&viewer, "viewer.html")?);
    let files = [
        ("index.html", index),
        ("viewer.js", script),
        ("viewer.css", read(&viewer, "page.css")?),
        ("page.css", read(&own, "page.css")?),
        ("page.js", read(&own, "page.js")?),
        ("worker.js", read(&own, "worker.js")?),
        ("serve.json", ISOLATED.to_owned()),
    ];
    for (name, text) in files {
        fs::write(out.join(name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

fn has_target(target: &str) -> bool {
    let folder = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output();
    let there = |text: &[u8]| Path::new(String::from_utf8_lossy(text).trim()).is_dir();
    folder.is_ok_and(|out| there(&out.stdout))
}

/// The standard library for WebAssembly.
fn installed(target: &str) -> Outcome {
    match has_target(target) {
        true => Ok(()),
        false => run(Command::new("rustup").args(["target", "add", target])),
    }
}

/// Unit tests of the crates below the methods, as WebAssembly in Node.
fn units() -> Outcome {
    installed(UNIT)?;
    let runner = root().join("crates/limpid-web/tests/wasi.mjs");
    let mut command = Command::new(crate::cargo_path());
    command.args(["test", "--locked", "--lib", "--target", UNIT]);
    for name in UNITS {
        command.args(["-p", name]);
    }
    run(command
        .env(
            "CARGO_TARGET_WASM32_WASIP1_RUNNER",
            format!("node --no-warnings {}", runner.display()),
        )
        .current_dir(root()))
}

/// The version of a crate in `Cargo.lock`.
fn locked(name: &str) -> Result<String, String> {
    let lock = fs::read_to_string(root().join("Cargo.lock")).map_err(|e| e.to_string())?;
    version(&lock, name).ok_or_else(|| format!("Cargo.lock: no {name}"))
}

fn version(lock: &str, name: &str) -> Option<String> {
    let (_, rest) = lock.split_once(&format!("name = \"{name}\"\n"))?;
    Some(rest.split('"').nth(1)?.to_owned())
}

/// Writes a module with its JavaScript, under a name. The tool must have the version of the crate.
fn bind(package: &Path, name: &str, module: &Path) -> Outcome {
    let version = locked("wasm-bindgen")?;
    let own = root().join("target/tools");
    let fits = |program: &Path| {
        let out = Command::new(program).arg("--version").output();
        out.is_ok_and(|out| {
            String::from_utf8_lossy(&out.stdout)
                .trim()
                .ends_with(&version)
        })
    };
    let found = [PathBuf::from("wasm-bindgen"), own.join("bin/wasm-bindgen")];
    let program = match found.iter().find(|p| fits(p)) {
        Some(program) => program.clone(),
        None => {
            let install = |how: &str| {
                let root = own.display();
                cargo(&format!(
                    "install wasm-bindgen-cli{how} --version {version} --root {root}"
                ))
            };
            // Versions that its lock file names may have been withdrawn since.
            install(" --locked").or_else(|missing| {
                println!("xtask: {missing}; trying without its lock file");
                install("")
            })?;
            own.join("bin/wasm-bindgen")
        }
    };
    run(Command::new(program)
        .args([
            "--target",
            "web",
            "--no-typescript",
            "--omit-default-module-path",
            "--remove-name-section",
            "--out-name",
            name,
            "--out-dir",
        ])
        .arg(package)
        .arg(module))
}

/// A module as an .lzma file, which `unpack.js` reads: the archive of npm and most hosts would only use gzip, whose window is too short for code.
fn pack(package: &Path, from: &str, to: &str) -> Outcome {
    let module = package.join(from);
    let bytes = fs::read(&module).map_err(|e| format!("{}: {e}", module.display()))?;
    let packed = packed(&bytes).map_err(|e| e.to_string())?;
    fs::write(package.join(to), packed).map_err(|e| e.to_string())?;
    fs::remove_file(&module).map_err(|e| e.to_string())
}

/// With its size in the header and without a mark at the end. Instructions have no alignment, so none is looked for.
fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut options = LzmaOptions::with_preset(9);
    (options.lc, options.lp, options.pb, options.nice_len) = (4, 0, 0, 273);
    options.dict_size = bytes.len().next_power_of_two().max(1 << 16) as u32;
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(bytes.len() as u64))?;
    writer.write_all(bytes)?;
    writer.finish()
}

/// Results in Node and in a browser must be those of the program.
fn test(package: &Path, threads: bool) -> Outcome {
    step("unit tests in WebAssembly", units)?;
    step("types of the package", || types(package))?;
    let modules = modules("three", THREE, "three/package.json")?;
    crate::browser::ensure()?;
    // As for all tests: with other features, it would be built once more.
    cargo(crate::python::BUILD)?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    step("web tests", || {
        run(Command::new("node")
            .arg("--test")
            .args(TESTS)
            .args(threads.then_some(THREADS))
            .env("LIMPID_PACKAGE", package)
            .env("LIMPID_MODULES", &modules)
            .env("LIMPID_PROGRAM", folder.join("debug/limpid"))
            .current_dir(root()))
    })
}

/// A folder of modules with a package of npm, which has a `file`.
fn modules(name: &str, package: &str, file: &str) -> Result<PathBuf, String> {
    let tools = root().join("target/tools").join(name);
    let modules = tools.join("node_modules");
    if !modules.join(file).exists() {
        run(Command::new("npm")
            .args(["install", "--no-save", "--prefix"])
            .arg(&tools)
            .arg(package))?;
    }
    Ok(modules)
}

/// A program that uses everything in `limpid.d.ts`, as its users' compiler sees it.
fn types(package: &Path) -> Outcome {
    let compiler = modules("typescript", TYPESCRIPT, "typescript/bin/tsc")?;
    let compiler = compiler.join("typescript/bin/tsc");
    let folder = root().join("target/browser/types");
    let modules = folder.join("node_modules");
    let js = root().join("crates/limpid-web/js");
    let files = [
        (package.join("package.json"), "limpid/package.json"),
        (package.join("limpid.d.ts"), "limpid/limpid.d.ts"),
        (js.join("threads.json"), "limpid-threads/package.json"),
        (js.join("threads.d.ts"), "limpid-threads/threads.d.ts"),
    ];
    for (from, to) in files {
        let to = modules.join(to);
        fs::create_dir_all(to.parent().unwrap_or(&modules)).map_err(|e| e.to_string())?;
        fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    let program = folder.join("program.mts");
    fs::copy(root().join("crates/limpid-web/tests/types.ts"), &program)
        .map_err(|e| format!("types.ts: {e}"))?;
    run(Command::new("node")
        .arg(compiler)
        .args([
            "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
        ])
        .args(["--lib", "es2022,dom"])
        .arg(program))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_package_has_the_version_of_the_workspace() {
        let text = super::described(
            r#"{ "name": "limpid", "type": "module", "peerDependencies": { "other": "{{version}}" } }"#,
            "limpid",
            "[workspace.package]\nversion = \"1.2.3\"\n",
        );
        let facts: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(facts["version"], "1.2.3");
        assert_eq!(facts["type"], "module");
        assert_eq!(facts["peerDependencies"]["other"], "1.2.3");
    }

    #[test]
    fn versions_are_found_in_the_lock_file() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\nversion = \"2.1.0\"\n";
        assert_eq!(super::version(lock, "b").as_deref(), Some("2.1.0"));
        assert_eq!(super::version(lock, "c"), None);
    }
}
