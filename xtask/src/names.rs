//! Code names in pages: files and identifiers that a page mentions exist.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Extensions of files whose names pages mention, and whose words they may use.
const SOURCES: [&str; 10] = [
    "rs", "wgsl", "py", "toml", "h", "c", "cu", "sh", "html", "md",
];

/// Folders that hold no sources of ours.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// Names that other programs and their files have.
const FOREIGN: [&str; 6] = [
    "rgb_color",
    "diffuse_albedo",
    "half_a",
    "half_b",
    "tests/fuzz.rs",
    "try_reserve",
];

/// The files of a repository, and the words in its sources.
#[derive(Default)]
struct SourceWords {
    files: Vec<String>,
    words: HashSet<String>,
}

/// Names in pages that nothing in the repository has.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut known = SourceWords::default();
    collect(root, root, &mut known).map_err(|error| error.to_string())?;
    let mut broken = Vec::new();
    for page in known.files.iter().filter(|f| f.ends_with(".md")) {
        // The change log speaks of the past, and pages of other folders of their own files.
        if page != "README.md" && !page.starts_with("docs/") {
            continue;
        }
        let text = fs::read_to_string(root.join(page)).map_err(|e| format!("{page}: {e}"))?;
        for name in spans(&text) {
            if !known.has(name) {
                broken.push(format!("{page}: `{name}` does not exist"));
            }
        }
    }
    Ok(broken)
}

fn collect(root: &Path, folder: &Path, known: &mut SourceWords) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = {
            let entry = entry?;
            (
                entry.path(),
                entry.file_name().to_string_lossy().into_owned(),
            )
        };
        if path.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                collect(root, &path, known)?;
            }
            continue;
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if !SOURCES.contains(&&*extension) {
            continue;
        }
        let shown = path.strip_prefix(root).unwrap_or(&path);
        known.files.push(shown.to_string_lossy().replace('\\', "/"));
        if extension != "md" {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            known.words.extend(words.map(str::to_owned));
        }
    }
    Ok(())
}

impl SourceWords {
    /// Whether a name exists, if it looks like one of code.
    fn has(&self, name: &str) -> bool {
        if FOREIGN.contains(&name) {
            return true;
        }
        if let Some((_, extension)) = name.rsplit_once('.')
            && name.contains('/')
            && SOURCES[..4].contains(&extension)
        {
            return is_pattern(name) || self.files.iter().any(|f| ends_with_path(f, name));
        }
        match identifiers(name) {
            Some(parts) => parts.iter().all(|part| self.words.contains(*part)),
            None => true,
        }
    }
}

/// Whether a path names several files, or one that a user has.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '{', '…', '$', ' ']) || name.starts_with(['/', '~', '.'])
}

fn ends_with_path(file: &str, name: &str) -> bool {
    let rest = file.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The parts of `a_name`, `Type::name` or `a_name()`; `None` for plain words, options and everything else.
fn identifiers(name: &str) -> Option<Vec<&str>> {
    let name = name.strip_suffix("()").unwrap_or(name);
    let parts: Vec<&str> = name.split("::").collect();
    let word = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let lower = |part: &str| !part.contains(|c: char| c.is_ascii_uppercase());
    let code = parts.len() > 1 || (name.contains('_') && lower(name));
    (code && parts.iter().all(word)).then_some(parts)
}

/// The spans of code in the lines of a page, outside of blocks.
fn spans(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            block = !block;
            continue;
        }
        if !block {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> SourceWords {
        SourceWords {
            files: vec!["crates/limpid/src/denoiser.rs".into()],
            words: ["Plan", "check", "may_take"].map(str::to_owned).into(),
        }
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        for name in ["src/denoiser.rs", "Plan::check", "may_take", "may_take()"] {
            assert!(known().has(name), "{name}");
        }
        for name in [
            "kernel/atrous/guided.rs",
            "Plan::nothing",
            "driver_is_stuck",
        ] {
            assert!(!known().has(name), "{name}");
        }
        for name in [
            "--no-taa",
            "neural",
            "light:NAME",
            "a.b/c",
            "frames/*.rs",
            "X Y",
        ] {
            assert!(known().has(name), "{name}");
        }
    }

    #[test]
    fn blocks_are_left_out() {
        assert_eq!(spans("a `b` c `d`\n```\n`e`\n```\n`f`"), ["b", "d", "f"]);
    }
}
