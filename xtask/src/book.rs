//! The documentation site: `docs/` as a book.

use crate::{Outcome, root, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the site with mdBook, after checking that its table of contents is complete.
pub(crate) fn build() -> Outcome {
    check(&root())?;
    let quiet =
        |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !quiet(Command::new("mdbook").arg("--version")).is_ok_and(|s| s.success()) {
        return Err("mdbook is not installed: cargo install mdbook --locked".to_owned());
    }
    run(Command::new("mdbook").arg("build").current_dir(root()))?;
    println!("xtask: target/book/index.html");
    Ok(())
}

/// Every page is in the table of contents once, and every link between pages leads somewhere.
pub(crate) fn check(root: &Path) -> Outcome {
    let docs = root.join("docs");
    let summary = read(&docs.join("SUMMARY.md"))?;
    let listed: Vec<PathBuf> = links(&summary).into_iter().map(|l| docs.join(l)).collect();
    let mut pages = Vec::new();
    collect(&docs, &mut pages).map_err(|e| format!("docs: {e}"))?;
    let mut broken = Vec::new();
    for page in &pages {
        let count = listed.iter().filter(|l| *l == page).count();
        if count != 1 && page.file_name().is_some_and(|n| n != "SUMMARY.md") {
            broken.push(format!(
                "docs/SUMMARY.md names {} {count} times",
                page.display()
            ));
        }
    }
    pages.push(root.join("README.md"));
    for page in &pages {
        let folder = page.parent().unwrap_or(root);
        let text = read(page)?;
        let local = |l: &String| !l.contains("://") && !l.starts_with("mailto:");
        for link in links(&text).into_iter().filter(local) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                folder.join(file)
            };
            if !target.exists() {
                broken.push(format!("{}: {link} leads nowhere", page.display()));
            } else if !anchor.is_empty()
                && target.extension().is_some_and(|e| e == "md")
                && !headings(&read(&target)?).contains(anchor)
            {
                broken.push(format!("{}: {link} has no such heading", page.display()));
            }
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(broken.join("\n  ")),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|e| e == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(())
}

/// The addresses of `[text](address)`, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        for (i, part) in line.split('`').enumerate() {
            // What stands between two backquotes is code, but a link's text may hold code: its address follows.
            for piece in part.split("](").skip(1) {
                if let Some((address, _)) = piece.split_once(')')
                    && (i % 2 == 0)
                {
                    found.push(address.to_owned());
                }
            }
        }
    }
    found
}

/// The anchors of a page's headings.
fn headings(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').trim();
        let letters = title.to_lowercase();
        let kept = letters
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.collect::<String>().replace(' ', "-"))
    };
    text.lines().filter_map(heading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found() {
        let text =
            "# One `two`\n[a](b.md#c) and [`d`](e.md)\n```sh\n[x](y.md)\n```\n## SVGF, live\n";
        assert_eq!(links(text), ["b.md#c", "e.md"]);
        let all = headings(text);
        assert!(
            all.contains("one-two") && all.contains("svgf-live"),
            "{all:?}"
        );
    }

    #[test]
    fn the_book_is_complete() {
        check(&root()).unwrap();
    }
}
