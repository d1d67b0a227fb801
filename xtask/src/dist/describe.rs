//! The texts of a release: what it consists of, and how other tools find it.

use crate::root;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate that is linked into the artefacts.
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: String,
    pub(super) folder: PathBuf,
}

/// The version in the manifest of the workspace.
pub(super) fn version(manifest: &str) -> Option<String> {
    let lines = manifest.lines().skip_while(|l| *l != "[workspace.package]");
    let line = lines.into_iter().find(|l| l.starts_with("version"))?;
    line.split('"').nth(1).map(str::to_owned)
}

/// The crates of others that the program and the libraries are built from.
pub(super) fn dependencies() -> Result<Vec<Dependency>, String> {
    let host = crate::fuzz::host()?;
    dependencies_of(&["limpid-cli", "limpid-c", "limpid-python"], &host)
}

/// The crates of others that these are built from for a target, as `cargo metadata` knows them.
pub(super) fn dependencies_of(roots: &[&str], target: &str) -> Result<Vec<Dependency>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            target,
        ])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let value: Value = serde_json::from_slice(&out.stdout).map_err(|error| error.to_string())?;
    Ok(linked(&value, roots))
}

/// What these packages need to run, directly or not: neither to build nor to test them.
fn linked(metadata: &Value, roots: &[&str]) -> Vec<Dependency> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let nodes = list(&metadata["resolve"]["nodes"]);
    let mut todo: Vec<String> = packages
        .iter()
        .filter(|p| roots.contains(&p["name"].as_str().unwrap_or_default()))
        .map(|p| text(&p["id"]))
        .collect();
    let mut seen = Vec::new();
    while let Some(id) = todo.pop() {
        if seen.contains(&id) {
            continue;
        }
        let node = nodes.iter().find(|n| n["id"] == id.as_str());
        for dep in node.map(|n| list(&n["deps"])).unwrap_or_default() {
            // A normal dependency has no kind.
            if list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null()) {
                todo.push(text(&dep["pkg"]));
            }
        }
        seen.push(id);
    }
    let mut found: Vec<Dependency> = packages
        .iter()
        .filter(|p| !p["source"].is_null() && seen.contains(&text(&p["id"])))
        .map(|p| Dependency {
            name: text(&p["name"]),
            version: text(&p["version"]),
            licence: text(&p["license"]),
            folder: PathBuf::from(text(&p["manifest_path"])).with_file_name(""),
        })
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found
}

/// The parts as a CycloneDX document.
pub(super) fn sbom(version: &str, dependencies: &[Dependency]) -> String {
    let component = |d: &Dependency| {
        json!({
            "type": "library",
            "name": d.name,
            "version": d.version,
            "purl": format!("pkg:cargo/{}@{}", d.name, d.version),
            "licenses": [{ "expression": d.licence }],
        })
    };
    let components: Vec<Value> = dependencies.iter().map(component).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "limpid", "version": version } },
        "components": components,
    });
    format!("{document:#}\n")
}

/// For `pkg-config`; the folder is where the file is.
pub(super) fn pkg_config(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\n\
         Name: limpid\n\
         Description: Removes noise from images, fast, on any GPU and on the CPU\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -llimpid_c\n\
         Libs.private: -lpthread -ldl -lm\n"
    )
}

/// For `find_package(Limpid)`: the target `Limpid::limpid`.
pub(super) const CMAKE: &str = "\
get_filename_component(_limpid_root \"${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)
if(NOT TARGET Limpid::limpid)
  add_library(Limpid::limpid SHARED IMPORTED)
  set_target_properties(Limpid::limpid PROPERTIES
    IMPORTED_LOCATION \"${_limpid_root}/lib/liblimpid_c.so\"
    INTERFACE_INCLUDE_DIRECTORIES \"${_limpid_root}/include\")
endif()
";

/// A project that uses it.
pub(super) fn cmake_project(source: &Path) -> String {
    format!(
        "cmake_minimum_required(VERSION 3.16)\n\
         project(program C)\n\
         find_package(Limpid REQUIRED)\n\
         add_executable(program \"{}\")\n\
         target_link_libraries(program Limpid::limpid m)\n",
        source.display()
    )
}

/// The oldest C library that a program runs with: the newest version of a symbol that it names.
pub(super) fn glibc(program: &[u8]) -> Option<String> {
    let mark = b"GLIBC_2.";
    let minor = |at: usize| -> Option<u32> {
        let after = program.get(at + mark.len()..)?;
        let end = after.iter().position(|b| !b.is_ascii_digit())?;
        std::str::from_utf8(&after[..end]).ok()?.parse().ok()
    };
    let marks = program.windows(mark.len()).enumerate();
    let newest = marks
        .filter(|(_, bytes)| bytes == mark)
        .filter_map(|(at, _)| minor(at))
        .max();
    newest.map(|minor| format!("2.{minor}"))
}

/// For `dpkg`.
pub(super) fn control(version: &str, architecture: &str, glibc: &str) -> String {
    format!(
        "Package: limpid\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Limpid developers <limpid@users.noreply.github.com>\n\
         Section: graphics\n\
         Priority: optional\n\
         Depends: libc6 (>= {glibc}), libgcc-s1\n\
         Recommends: libvulkan1, mesa-vulkan-drivers | vulkan-icd, ffmpeg\n\
         Description: removes noise from renders, photographs and films\n \
         Limpid is a fast denoiser for renders with feature buffers, image sequences,\n \
         photographs and films, on any GPU and on the CPU.\n"
    )
}

/// A small grey picture with grain, as a portable float map.
pub(super) fn noisy_picture() -> Vec<u8> {
    let mut bytes = b"PF\n32 24\n-1.0\n".to_vec();
    let mut state = 1u32;
    for _ in 0..32 * 24 * 3 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grain = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
        bytes.extend((0.5 + 0.2 * grain).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "version = \"9\"\n[workspace.package]\nversion = \"0.1.0\"\n";
        assert_eq!(version(manifest).as_deref(), Some("0.1.0"));
    }

    #[test]
    fn what_is_linked_is_found() {
        let package = |name: &str, source: Value| {
            json!({ "name": name, "version": "1.0.0", "id": name, "license": "MIT", "source": source,
                    "manifest_path": format!("/r/{name}/Cargo.toml") })
        };
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let registry = || Value::from("registry");
        let metadata = json!({
            "packages": [package("limpid-cli", Value::Null), package("a", registry()), package("b", registry()), package("c", registry())],
            "resolve": { "nodes": [
                { "id": "limpid-cli", "deps": [dep("a", Value::Null), dep("c", Value::from("dev"))] },
                { "id": "a", "deps": [dep("b", Value::Null)] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        let found = linked(&metadata, &["limpid-cli"]);
        let names: Vec<&str> = found.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let sbom: Value = serde_json::from_str(&sbom("0.1.0", &found)).unwrap();
        assert_eq!(sbom["components"][1]["purl"], "pkg:cargo/b@1.0.0");
    }

    #[test]
    fn tools_get_paths_relative_to_their_file() {
        assert!(pkg_config("0.1.0").contains("prefix=${pcfiledir}/../..\n"));
        let control = control("0.1.0", "amd64", "2.35");
        assert!(control.contains("\nArchitecture: amd64\n"));
        assert!(control.contains("\nDepends: libc6 (>= 2.35), libgcc-s1\n"));
    }

    #[test]
    fn the_c_library_is_the_newest_that_is_named() {
        let names = b"\0GLIBC_2.2.5\0GLIBC_2.35\0x\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(glibc(names).as_deref(), Some("2.35"));
        assert_eq!(glibc(b"GLIBC_2."), None);
    }
}
