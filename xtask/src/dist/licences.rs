//! The licences of everything that is linked.

use super::describe::Dependency;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// The beginnings of the names of licence files, in lower case.
const FILES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Each licence text once, with the crates that come with it.
pub(super) fn of(dependencies: &[Dependency]) -> Result<String, String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for dependency in dependencies {
        let Dependency {
            name,
            version,
            licence,
            folder,
        } = dependency;
        if licence.is_empty() {
            return Err(format!("{name} {version} names no licence"));
        }
        let _ = writeln!(list, "{name} {version}: {licence}");
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries.filter_map(Result::ok) {
            let file = entry.file_name().to_string_lossy().to_lowercase();
            if FILES.iter().any(|start| file.starts_with(start))
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                let users = texts.entry(text.trim().to_owned()).or_default();
                users.push(format!("{name} {version}"));
            }
        }
    }
    let mut all = format!("Limpid contains these crates.\n\n{list}");
    if dependencies.iter().any(|d| d.licence.contains("IJG")) {
        all.push_str(
            "\nThis software is based in part on the work of the Independent JPEG Group.\n",
        );
    }
    for (text, users) in texts {
        let line = "-".repeat(80);
        let _ = write!(all, "\n{line}\n{}\n\n{text}\n", users.join(", "));
    }
    Ok(all)
}
