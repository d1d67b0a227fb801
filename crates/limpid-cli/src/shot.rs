//! Sequences of files: `shot.####.exr`, where `####` stands for the number of the frame.
//!
//! Reading, work and writing go on at the same time, each on a thread of its own with room for one frame between them, so
//! that memory does not grow with the length of the sequence.

use crate::say::{self, OrUsage};
use anyhow::{Context, Result};
use limpid::io::{self, Picture, ReadOptions, WriteOptions};
use limpid::{Error, Frame, Sequence};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Frames before the first missing one that are worked on again, so that history is there.
const WARM_UP: u32 = 32;

/// A name in three parts: what stands before its last run of `#`, how long the run is, and what follows it.
fn parts(name: &OsStr) -> Option<(Cow<'_, OsStr>, usize, Cow<'_, OsStr>)> {
    let bytes = name.as_encoded_bytes();
    let end = bytes.iter().rposition(|b| *b == b'#')?;
    let other = |b: &u8| *b != b'#';
    let start = bytes[..end].iter().rposition(other).map_or(0, |i| i + 1);
    Some((
        part(&bytes[..start]),
        end + 1 - start,
        part(&bytes[end + 1..]),
    ))
}

/// Part of a name, which need not be UTF-8.
#[cfg(unix)]
fn part(bytes: &[u8]) -> Cow<'_, OsStr> {
    Cow::Borrowed(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

#[cfg(not(unix))]
fn part(bytes: &[u8]) -> Cow<'_, OsStr> {
    Cow::Owned(String::from_utf8_lossy(bytes).into_owned().into())
}

/// Whether a path has a place for the number of the frame.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.file_name().and_then(parts).is_some()
}

/// The name with the number of a frame in place of its last run of `#`.
pub(crate) fn numbered(pattern: &Path, frame: u32) -> PathBuf {
    let Some((head, width, tail)) = pattern.file_name().and_then(parts) else {
        return pattern.to_owned();
    };
    let mut name = head.into_owned();
    name.push(format!("{frame:0width$}"));
    name.push(tail);
    pattern.with_file_name(name)
}

/// Parses `3..9` or `3`.
pub(crate) fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let wrong = || format!("'{text}' is not a range of frames; expected FIRST..LAST, like 0..9");
    let (a, b) = text.split_once("..").unwrap_or((text, text));
    match (a.parse(), b.trim_start_matches('=').parse()) {
        (Ok(a), Ok(b)) if a <= b => Ok(a..=b),
        _ => Err(wrong()),
    }
}

/// The numbers of the frames that are there, in order.
pub(crate) fn found(pattern: &Path) -> Result<Vec<u32>> {
    let folder = match pattern.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = pattern.file_name().and_then(parts);
    let (head, _, tail) = name.with_context(|| format!("{}: no ####", pattern.display()))?;
    let (head, tail) = (head.as_encoded_bytes(), tail.as_encoded_bytes());
    let mut numbers = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry.with_context(|| folder.display().to_string())?;
        let file = entry.file_name();
        let rest = file.as_encoded_bytes().strip_prefix(head);
        let digits = rest.and_then(|f| f.strip_suffix(tail));
        let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
        if let Some(number) = digits.and_then(|d| d.parse().ok())
            && numbered(pattern, number).file_name() == Some(&*file)
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    if numbers.is_empty() {
        let message = format!("{}: no such frames", pattern.display());
        return Err(Error::input(message)).or_usage();
    }
    Ok(numbers)
}

/// From which files to which.
pub(crate) struct Shot<'a> {
    pub(crate) from: &'a Path,
    pub(crate) to: &'a Path,
    /// Which frames; all that are there if none.
    pub(crate) frames: Option<RangeInclusive<u32>>,
    /// Layers by name, as given.
    pub(crate) layers: &'a [String],
    /// Results that are there stay.
    pub(crate) resume: bool,
}

/// A frame on its way to its file.
struct Made {
    to: PathBuf,
    frame: Frame,
    origin: io::Origin,
}

impl Shot<'_> {
    /// Runs the method on all frames, in order.
    pub(crate) fn run(&self, sequence: &mut Sequence) -> Result<()> {
        if !is_pattern(self.to) {
            let message = format!(
                "{}: several frames need a place for their number, like OUT.####.exr",
                self.to.display()
            );
            return Err(Error::input(message)).or_usage();
        }
        io::Format::from_path(self.to).or_usage()?;
        let mut read = ReadOptions::default();
        for layer in self.layers {
            read = read.layer(layer).or_usage()?;
        }
        let frames: Vec<u32> = match &self.frames {
            Some(range) => range.clone().collect(),
            None => found(self.from)?,
        };
        let todo = self.left(&frames);
        let (pictures, next) = sync_channel(1);
        let (made, last) = sync_channel(1);
        std::thread::scope(|scope| {
            let names: Vec<PathBuf> = todo.iter().map(|n| numbered(self.from, *n)).collect();
            scope.spawn(move || reading(&names, &read, &pictures));
            let writer = scope.spawn(move || writing(&last));
            let worked = self.work(todo, sequence, &next, &made);
            // The writer ends when nothing more can come, the reader when nobody listens.
            drop((made, next));
            let written = writer
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("the writing thread stopped")));
            worked.and(written)
        })
    }

    /// Frames to work on: all, or from a few before the first whose result is not there.
    fn left<'f>(&self, frames: &'f [u32]) -> &'f [u32] {
        if !self.resume {
            return frames;
        }
        let there = |n: &u32| numbered(self.to, *n).exists();
        let first = frames.iter().position(|n| !there(n));
        match first {
            Some(first) => &frames[first.saturating_sub(WARM_UP as usize)..],
            None => &[],
        }
    }

    fn work(
        &self,
        frames: &[u32],
        sequence: &mut Sequence,
        next: &Receiver<limpid::Result<Picture>>,
        made: &SyncSender<Made>,
    ) -> Result<()> {
        // Frames whose results are still to come.
        let mut waiting = VecDeque::new();
        let send = |waiting: &mut VecDeque<(PathBuf, io::Origin)>, results: Vec<Frame>| {
            for frame in results {
                let Some((to, origin)) = waiting.pop_front() else {
                    break;
                };
                if self.resume && to.exists() {
                    continue;
                }
                // A writer that stopped tells why when it is joined.
                if made.send(Made { to, frame, origin }).is_err() {
                    return false;
                }
            }
            true
        };
        for n in frames {
            let (from, to) = (numbered(self.from, *n), numbered(self.to, *n));
            let Ok(picture) = next.recv() else {
                break;
            };
            let picture = picture?;
            for note in &picture.notes {
                log::warn!("{}: {note}", from.display());
            }
            let watch = say::watch(&from.display().to_string());
            let results = sequence
                .push(&picture.frame, &watch)
                .with_context(|| from.display().to_string())?;
            watch.go_on()?;
            waiting.push_back((to, picture.origin));
            if !send(&mut waiting, results) {
                return Ok(());
            }
        }
        let watch = say::quiet();
        let results = sequence.finish(&watch)?;
        watch.go_on()?;
        send(&mut waiting, results);
        Ok(())
    }
}

fn reading(
    names: &[PathBuf],
    options: &ReadOptions,
    pictures: &SyncSender<limpid::Result<Picture>>,
) {
    for name in names {
        let picture = io::read(name, options);
        let failed = picture.is_err();
        if pictures.send(picture).is_err() || failed {
            return;
        }
    }
}

fn writing(made: &Receiver<Made>) -> Result<()> {
    for Made { to, frame, origin } in made {
        for note in io::write(&to, &frame, Some(&origin), &WriteOptions::default())? {
            log::warn!("{}: {note}", to.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers() {
        let name = |o: &str| numbered(Path::new(o), 7).display().to_string();
        assert_eq!(name("a.####.exr"), "a.0007.exr");
        assert_eq!(name("#/b#.exr"), "#/b7.exr");
        assert_eq!(name("c.exr"), "c.exr");
        assert_eq!(range("3..9").unwrap(), 3..=9);
        assert_eq!(range("4").unwrap(), 4..=4);
        assert!(range("9..3").is_err());
    }
}
