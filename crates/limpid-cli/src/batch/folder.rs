//! Which files are meant: names, wildcards, and the images of folders. What a folder holds besides is told.

use super::usage;
use crate::say::{self, OrUsage};
use crate::{heif, shot, video};
use anyhow::{Context, Result};
use limpid::Error;
use limpid::io::{self, Format};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An input.
#[derive(Debug, Clone)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    /// Its name in a folder of results; with folders, if those inside folders are searched.
    pub(super) name: PathBuf,
}

/// The files that the inputs denote. Patterns of sequences are kept. The folder of results is not searched.
pub(super) fn found(
    inputs: &[PathBuf],
    recursive: bool,
    results: Option<&Path>,
) -> Result<Vec<InputFile>> {
    let mut all = Vec::new();
    let plain = |path: PathBuf| {
        let name = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
        InputFile { path, name }
    };
    for input in inputs {
        if input.is_dir() {
            let mut search = Search {
                recursive,
                results: results.and_then(|path| path.canonicalize().ok()),
                images: Vec::new(),
                skipped: BTreeMap::new(),
            };
            search.look(input, Path::new(""))?;
            all.extend(search.done(input)?);
        } else if input.exists() || input == Path::new("-") {
            all.push(plain(input.clone()));
        } else if shot::is_pattern(input) {
            shot::found(input)?;
            all.push(plain(input.clone()));
        } else if let Some(pattern) = wildcard(input) {
            let found = glob::glob(pattern).map_err(|e| Error::input(format!("{pattern}: {e}")));
            let mut found: Vec<PathBuf> = found.or_usage()?.filter_map(Result::ok).collect();
            if found.is_empty() {
                return Err(Error::input(format!("{pattern}: no such file")).into());
            }
            found.sort();
            all.extend(found.into_iter().map(plain));
        } else {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io(input, missing).into());
        }
    }
    Ok(all)
}

fn wildcard(path: &Path) -> Option<&str> {
    path.to_str().filter(|p| p.contains(['*', '?', '[']))
}

/// What lies in a folder.
struct Search {
    recursive: bool,
    results: Option<PathBuf>,
    images: Vec<InputFile>,
    /// Names of what is left out, by kind.
    skipped: BTreeMap<&'static str, Vec<String>>,
}

impl Search {
    fn look(&mut self, folder: &Path, inside: &Path) -> Result<()> {
        let named = || folder.display().to_string();
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(named)? {
            entries.push(entry.with_context(named)?);
        }
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), inside.join(entry.file_name()));
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // A link to a folder could lead back here.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_results = self.results.is_some() && path.canonicalize().ok() == self.results;
                match (is_results, self.recursive) {
                    (true, _) => {}
                    (false, true) => self.look(&path, &name)?,
                    (false, false) => self.skip("folders, which --recursive searches", &name),
                }
            } else if !path.is_file() {
            } else if Format::from_path(&path).is_ok()
                || io::is_raw(&path)
                || (heif::is_heif(&path) && heif::is_readable())
            {
                self.images.push(InputFile { path, name });
            } else {
                self.skip(kind(&path), &name);
            }
        }
        Ok(())
    }

    fn skip(&mut self, kind: &'static str, name: &Path) {
        let names = self.skipped.entry(kind).or_default();
        names.push(name.display().to_string());
    }

    /// The images; says what was left out.
    fn done(self, folder: &Path) -> Result<Vec<InputFile>> {
        let folder = folder.display();
        let left_out: Vec<String> = self.skipped.iter().map(|(k, n)| listed(k, n)).collect();
        let left_out = left_out.join("; ");
        if self.images.is_empty() {
            let more = match left_out.as_str() {
                "" => "see limpid info for the formats".to_owned(),
                what => format!("it contains {what}"),
            };
            return usage(format!("{folder}: the folder contains no images; {more}"));
        }
        if !left_out.is_empty() && !say::is_quiet() {
            say::line(&format!("limpid: {folder}: left out: {left_out}"));
        }
        Ok(self.images)
    }
}

/// Why a file is left out.
fn kind(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "heic" | "heif" | "hif" => "HEIC, which ffmpeg or heif-dec would decode",
        "avif" => "AVIF, which ffmpeg or heif-dec would decode",
        _ if video::is_film(path) => "films, which are named one by one",
        _ => "others",
    }
}

/// The most names in a message.
const MOST: usize = 4;

fn listed(kind: &str, names: &[String]) -> String {
    let shown = names.iter().take(MOST).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    let count = names.len();
    match count.saturating_sub(MOST) {
        0 => format!("{kind} ({count}): {shown}"),
        more => format!("{kind} ({count}): {shown} and {more} more"),
    }
}
