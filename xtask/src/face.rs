//! The public face: the items that rustdoc lists, compared with a stored list, so that a change is seen.

use crate::Outcome;
use std::fs;
use std::path::Path;

/// The crates whose items count. Kernels and definitions are not part of the stable interface.
const CRATES: [&str; 8] = [
    "limpid",
    "limpid_c",
    "limpid_core",
    "limpid_exec",
    "limpid_io",
    "limpid_metric",
    "limpid_plan",
    "limpid_wavelet",
];

const LIST: &str = "crates/limpid/public.txt";

/// Compares the items of the documentation in `target/doc` with the list, or stores them in it.
pub(crate) fn compare(root: &Path, accept: bool) -> Outcome {
    let mut items = Vec::new();
    for name in CRATES {
        let page = root.join("target/doc").join(name).join("all.html");
        let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
        items.extend(
            listed(&text)
                .into_iter()
                .map(|item| format!("{name} {item}")),
        );
    }
    items.sort();
    let list = root.join(LIST);
    let now = items.join("\n") + "\n";
    if accept {
        return fs::write(&list, now).map_err(|error| format!("{LIST}: {error}"));
    }
    let before = fs::read_to_string(&list).unwrap_or_default();
    let missing: Vec<&str> = before
        .lines()
        .filter(|l| !items.iter().any(|i| i == l))
        .collect();
    let new: Vec<&String> = items
        .iter()
        .filter(|i| !before.lines().any(|l| l == *i))
        .collect();
    if missing.is_empty() && new.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the public items are not those of {LIST}: {} new {new:?}, {} gone {missing:?}; if that is wanted: cargo xtask rustdoc --accept",
        new.len(),
        missing.len()
    ))
}

/// Kinds and paths of the items of a page `all.html`: `struct exec::Device`.
fn listed(page: &str) -> Vec<String> {
    let list = page.split_once("<h1>").map_or("", |(_, rest)| rest);
    let links = list.split("<a href=\"").skip(1);
    let target = links.filter_map(|link| link.split_once('"').map(|(target, _)| target));
    target.filter_map(item).collect()
}

/// `exec/struct.Device.html` as `struct exec::Device`.
fn item(target: &str) -> Option<String> {
    let path = target.strip_suffix(".html")?;
    let (folder, file) = path.rsplit_once('/').map_or(("", path), |(a, b)| (a, b));
    let (kind, name) = file.split_once('.')?;
    let modules = folder.split('/').filter(|part| !part.is_empty());
    let path: Vec<&str> = modules.chain([name]).collect();
    Some(format!("{kind} {}", path.join("::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_from_a_page() {
        let page = "<a href=\"struct.No.html\"><h1>List of all items</h1><a href=\"struct.Frame.html\">Frame</a>\
                    <a href=\"exec/gpu/struct.Gpu.html\">x</a><a href=\"help.html\">";
        assert_eq!(listed(page), ["struct Frame", "struct exec::gpu::Gpu"]);
    }
}
