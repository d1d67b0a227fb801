//! Repository checks that no lint covers.

use crate::Outcome;
use std::fs;
use std::path::Path;

/// The most lines of a file, by its extension.
const LENGTHS: [(&str, usize); 2] = [("rs", 500), ("wgsl", 300)];

/// What no Rust file may hold, and what to do instead. Split, so that this file passes.
const WORDS: [(&str, &str); 6] = [
    (concat!("to", "do!"), "write the code or an error"),
    (concat!("un", "implemented!"), "write the code or an error"),
    (
        concat!("#[", "ignore"),
        "a test runs or is not there; make it fast enough",
    ),
    (
        concat!("al", "low("),
        "use #[expect(…, reason = \"…\")], which goes stale loudly",
    ),
    (
        concat!("System", "Time"),
        "use Instant, which does not jump with the clock",
    ),
    (
        concat!("keep ", "in sync"),
        "let one side be made from the other, or test that they agree",
    ),
];

/// Library crates, whose messages have no words of a command line.
const LIBRARY: [&str; 11] = [
    "limpid/",
    "limpid-core/",
    "limpid-exec/",
    "limpid-io/",
    "limpid-kernel-photo/",
    "limpid-kernel-render/",
    "limpid-kernel-wavelet/",
    "limpid-metric/",
    "limpid-plan/",
    "limpid-reference/",
    "limpid-wavelet/",
];

/// Folders that hold no sources of ours.
const SKIPPED: [&str; 3] = ["target", "corpus", "artifacts"];

/// Checks every source file, and that every dependency has a reason.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut broken = Vec::new();
    walk(root, root, &mut broken).map_err(|error| error.to_string())?;
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    broken.extend(reasons(&read("Cargo.toml")?, &read("docs/design.md")?));
    broken.extend(crate::names::check(root)?);
    match broken.len() {
        0 => Ok(()),
        count => Err(format!("{count} broken\n  {}", broken.join("\n  "))),
    }
}

fn walk(root: &Path, folder: &Path, broken: &mut Vec<String>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
            walk(root, &path, broken)?;
        } else if kind.is_file() {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if LENGTHS.iter().any(|(e, _)| *e == extension) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display();
                broken.extend(file(
                    &shown.to_string(),
                    &extension,
                    &fs::read_to_string(&path)?,
                ));
            }
        }
    }
    Ok(())
}

/// What is wrong with one file.
fn file(name: &str, extension: &str, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let lines = text.lines().count();
    for (e, most) in LENGTHS {
        if e == extension && lines > most {
            broken.push(format!("{name}: {lines} lines, at most {most}: split it"));
        }
    }
    if extension == "rs" {
        for (i, line) in text.lines().enumerate() {
            for (word, instead) in WORDS {
                if line.to_lowercase().contains(&word.to_lowercase()) {
                    broken.push(format!("{name}:{}: '{word}': {instead}", i + 1));
                }
            }
        }
        broken.extend(apart(name, text));
        // Files come from strangers.
        let code = |line: &&str| !line.trim_start().starts_with("//");
        let word = concat!("un", "safe");
        if name.starts_with("crates/limpid-io/src/")
            && text.lines().filter(code).any(|line| line.contains(word))
        {
            broken.push(format!("{name}: readers and writers have no '{word}' code"));
        }
    }
    broken
}

/// What a library may not know although its crate depends on it. Tests and comments may.
fn apart(name: &str, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    let lines = || {
        let numbered = text.lines().enumerate();
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    };
    if name.starts_with("crates/limpid/src/method/") {
        for (i, line) in lines() {
            if line.contains("limpid_exec") || line.contains("limpid_io") {
                let why = "methods know no devices and no files";
                broken.push(format!("{name}:{}: {why}", i + 1));
            }
        }
    }
    let library = |crates: &&str| {
        let rest = name.strip_prefix("crates/");
        rest.and_then(|n| n.strip_prefix(*crates))
            .is_some_and(|n| n.starts_with("src/"))
    };
    if LIBRARY.iter().any(library) {
        for (i, line) in lines() {
            let flag = |at: &str| at.starts_with(|c: char| c.is_ascii_lowercase() || c == '{');
            if [" --", "\"--", "'--"]
                .iter()
                .any(|mark| line.split(mark).skip(1).any(flag))
            {
                let why = "words of a command line: the program adds them";
                broken.push(format!("{name}:{}: {why}", i + 1));
            }
        }
    }
    broken
}

/// Dependencies of the workspace that the design page gives no reason for.
fn reasons(manifest: &str, design: &str) -> Vec<String> {
    let names = manifest
        .lines()
        .skip_while(|line| line.trim() != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim())
        .filter(|name| !name.starts_with('#') && !name.starts_with("limpid"));
    names
        .filter(|name| !design.contains(&format!("`{name}`")))
        .map(|name| format!("docs/design.md: no reason for the dependency `{name}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_and_refused_words_are_found() {
        assert!(file("a.rs", "rs", &"\n".repeat(500)).is_empty());
        assert_eq!(file("a.rs", "rs", &"\n".repeat(501)).len(), 1);
        assert_eq!(file("a.wgsl", "wgsl", &"\n".repeat(301)).len(), 1);
        for (word, _) in WORDS {
            let found = file("a.rs", "rs", &format!("fn a() {{}}\n// {word}"));
            assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
        }
        let fine = "#[expect(unused, reason = \"…\")]\nfn allowed() {}";
        assert!(file("a.rs", "rs", fine).is_empty());
    }

    #[test]
    fn who_may_know_whom_is_checked() {
        let name = "crates/limpid/src/method/a.rs";
        assert_eq!(file(name, "rs", "use limpid_exec::Device;").len(), 1);
        assert!(file(name, "rs", "/// See limpid_exec.\nuse crate::Image;").is_empty());
        assert!(file(name, "rs", "#[cfg(test)]\nuse limpid_exec::Device;").is_empty());
        assert!(file("crates/limpid/src/a.rs", "rs", "use limpid_exec::Device;").is_empty());
        let said = "Error::input(\"use --tile\")";
        assert_eq!(file("crates/limpid/src/a.rs", "rs", said).len(), 1);
        assert_eq!(file("crates/limpid-io/src/a.rs", "rs", said).len(), 1);
        assert!(file("crates/limpid-cli/src/a.rs", "rs", said).is_empty());
        assert!(file("crates/limpid/src/a.rs", "rs", "a -= 1; --\n").is_empty());
    }

    #[test]
    fn dependencies_need_a_reason() {
        let manifest = "[workspace.dependencies]\nlimpid = 1\nrayon = \"1\"\nexr = { }\n\n[profile.dev]\nx = 1";
        let found = reasons(manifest, "- `rayon`: threads");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`exr`"));
    }

    #[test]
    fn this_repository_keeps_the_rules() {
        check(&crate::root()).unwrap();
    }
}
