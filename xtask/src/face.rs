//! The public face: the items that rustdoc lists with their signatures, compared with a stored list, so that a change is seen.

use crate::Outcome;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The crates whose items count, those that others re-export first. Kernels and definitions are not part of the stable interface.
const CRATES: [&str; 8] = [
    "limpid_core",
    "limpid_exec",
    "limpid_io",
    "limpid_metric",
    "limpid_plan",
    "limpid_wavelet",
    "limpid",
    "limpid_c",
];

const LIST: &str = "crates/limpid/public.txt";

/// An item begins with its crate, kind and path; its signatures follow, indented.
const INDENT: &str = "    ";

/// Compares the items of the documentation in `target/doc` with the list, or stores them in it.
pub(crate) fn compare(root: &Path, accept: bool) -> Outcome {
    let compiler = compiler()?;
    let now = format!(
        "# As rustdoc of Rust {compiler} writes it: cargo xtask rustdoc --accept\n{}",
        list(&root.join("target/doc"))?
    );
    let stored = root.join(LIST);
    if accept {
        return fs::write(&stored, now).map_err(|error| format!("{LIST}: {error}"));
    }
    let before = fs::read_to_string(&stored).unwrap_or_default();
    // Other releases may write signatures differently; the items are the same.
    let same_release = before.lines().next() == now.lines().next();
    let [before, now] = [&before, &now].map(|text| facts(text, same_release));
    let gone: Vec<&String> = before.difference(&now).collect();
    let new: Vec<&String> = now.difference(&before).collect();
    if gone.is_empty() && new.is_empty() {
        return Ok(());
    }
    let lines = |sign: char, facts: &[&String]| -> String {
        facts
            .iter()
            .map(|fact| format!("\n{sign} {fact}"))
            .collect()
    };
    Err(format!(
        "the public items are not those of {LIST}; if that is wanted: cargo xtask rustdoc --accept{}{}",
        lines('-', &gone),
        lines('+', &new)
    ))
}

/// The release of the compiler: `1.95`.
fn compiler() -> Result<String, String> {
    let out = Command::new("rustc").arg("--version").output();
    let out = out.map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let number = text.split(' ').nth(1).and_then(|v| v.rsplit_once('.'));
    let (release, _) = number.ok_or_else(|| format!("rustc has the version '{text}'"))?;
    Ok(release.to_owned())
}

/// Each signature behind its item, or the items only.
fn facts(list: &str, signatures: bool) -> BTreeSet<String> {
    let mut item = "";
    let mut facts = BTreeSet::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix(INDENT) {
            None => {
                item = line;
                facts.insert(item.to_owned());
            }
            Some(signature) if signatures => {
                facts.insert(format!("{item}: {signature}"));
            }
            Some(_) => {}
        }
    }
    facts
}

/// The list for the documentation in a folder. What a crate re-exports has its signatures where it is first.
fn list(doc: &Path) -> Result<String, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for name in CRATES {
        let folder = doc.join(name);
        let all = read(&folder.join("all.html"))?;
        let mut targets = listed(&all);
        targets.sort();
        for (item, target) in targets {
            text += &format!("{name} {item}\n");
            let signatures = signatures(&read(&folder.join(target))?);
            if seen.insert(signatures.clone()) {
                for line in signatures {
                    text += &format!("{INDENT}{line}\n");
                }
            }
        }
    }
    Ok(text)
}

/// Kinds and paths of the items of a page `all.html`, such as `struct exec::Device`, and their pages.
fn listed(page: &str) -> Vec<(String, &str)> {
    let list = page.split_once("<h1>").map_or("", |(_, rest)| rest);
    let links = list.split("<a href=\"").skip(1);
    let targets = links.filter_map(|link| link.split_once('"').map(|(target, _)| target));
    targets.filter_map(|t| Some((item(t)?, t))).collect()
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

/// The signatures of an item's page: its declaration, its own functions, and the traits that it implements.
fn signatures(page: &str) -> Vec<String> {
    // What holds for all types, and what the compiler finds by itself, is not written by anyone.
    let end = [
        "synthetic-implementations",
        "blanket-implementations",
        "implementors",
    ];
    let end = end
        .iter()
        .filter_map(|id| page.find(&format!("id=\"{id}\"")));
    let page = &page[..end.min().unwrap_or(page.len())];
    let traits = page.find("id=\"trait-implementations\"");
    let (own, traits) = page.split_at(traits.unwrap_or(page.len()));
    let declaration = between(own, "<pre class=\"rust item-decl\"><code>", "</code></pre>");
    let functions = between(own, "<h4 class=\"code-header\">", "</h4>");
    let mut implemented = between(traits, "<h3 class=\"code-header\">", "</h3>");
    implemented.sort();
    let is_trait = declaration.iter().any(|d| d.contains("pub trait "));
    // The declaration of a trait has its functions.
    let functions = functions.into_iter().filter(|_| !is_trait);
    let mut all: Vec<String> = declaration.into_iter().chain(functions).collect();
    if !implemented.is_empty() {
        all.push(implemented.join("; "));
    }
    all
}

/// The texts between two marks, without tags and in one line each.
fn between(page: &str, begin: &str, end: &str) -> Vec<String> {
    let parts = page.split(begin).skip(1);
    let texts = parts.filter_map(|part| part.split_once(end).map(|(text, _)| text));
    texts.map(plain).collect()
}

fn plain(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        // Before the first tag there is none to leave out.
        text += match text.is_empty() && !html.starts_with('<') {
            true => part,
            false => part.split_once('>').map_or(part, |(_, rest)| rest),
        };
    }
    let signs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
    ];
    for (sign, letter) in signs {
        text = text.replace(sign, letter);
    }
    let words = text
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
        .replace("]pub", "] pub");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_from_a_page() {
        let page = "<a href=\"struct.No.html\"><h1>List of all items</h1><a href=\"struct.Frame.html\">Frame</a>\
                    <a href=\"exec/gpu/struct.Gpu.html\">x</a><a href=\"help.html\">";
        let items: Vec<String> = listed(page).into_iter().map(|(item, _)| item).collect();
        assert_eq!(items, ["struct Frame", "struct exec::gpu::Gpu"]);
    }

    #[test]
    fn signatures_are_read_from_a_page() {
        let page = "<pre class=\"rust item-decl\"><code>pub struct Size {\n    pub width: <a href=\"x\">usize</a>,\n}</code></pre>\
                    <h2 id=\"implementations\"><h3 class=\"code-header\">impl Size</h3>\
                    <h4 class=\"code-header\">pub fn <a>new</a>(s: &amp;<a>str</a>) -&gt; Self</h4>\
                    <h2 id=\"trait-implementations\"><h3 class=\"code-header\">impl <a>Clone</a> for Size</h3>\
                    <h4 class=\"code-header\">fn clone(&amp;self) -&gt; Size</h4>\
                    <h2 id=\"synthetic-implementations\"><h3 class=\"code-header\">impl Send for Size</h3>";
        assert_eq!(
            signatures(page),
            [
                "pub struct Size { pub width: usize, }",
                "pub fn new(s: &str) -> Self",
                "impl Clone for Size"
            ]
        );
    }

    #[test]
    fn a_changed_signature_is_a_change_and_another_release_is_none() {
        let list = |release: &str, result: &str| {
            format!("# {release}\nlimpid fn f\n    pub fn f() -> {result}\nlimpid fn g\n")
        };
        let (before, now) = (list("1.95", "u8"), list("1.95", "u16"));
        assert_ne!(facts(&before, true), facts(&now, true));
        assert_eq!(facts(&before, false), facts(&now, false));
        assert!(facts(&now, true).contains("limpid fn f: pub fn f() -> u16"));
    }
}
