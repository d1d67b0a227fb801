//! Sequences of files: `shot.####.exr` or `shot.%04d.exr`, where `####` or `%04d` stands for the frame number.
//!
//! Reading, processing and writing overlap, each on its own thread with a queue of one frame between them, so that memory
//! does not grow with the length of the sequence.

use crate::batch::Job;
use crate::layers::Reader;
use crate::{report, say};
use anyhow::{Context, Result};
use limpid::io::{self, Picture, WriteOptions};
use limpid::{Error, Frame, Kind, Sequence};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Frames before the first missing one that are processed again to rebuild the history.
const WARM_UP: u32 = 32;

/// A name in three parts: the text before the number, the minimum number of digits, and the text after it. The number
/// is the last run of `#`, or `%04d`.
fn parts(name: &OsStr) -> Option<(Cow<'_, OsStr>, usize, Cow<'_, OsStr>)> {
    let bytes = name.as_encoded_bytes();
    let (start, width, end) = hashes(bytes).or_else(|| printf(bytes))?;
    Some((part(&bytes[..start]), width, part(&bytes[end..])))
}

fn hashes(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let end = bytes.iter().rposition(|b| *b == b'#')?;
    let other = |b: &u8| *b != b'#';
    let start = bytes[..end].iter().rposition(other).map_or(0, |i| i + 1);
    Some((start, end + 1 - start, end + 1))
}

/// `%d` or `%04d`, as ffmpeg and renderers write it.
fn printf(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let start = bytes.iter().rposition(|b| *b == b'%')?;
    let digits = bytes[start + 1..].iter().take_while(|b| b.is_ascii_digit());
    let end = start + 1 + digits.count();
    let width = std::str::from_utf8(&bytes[start + 1..end]).ok()?;
    let width = match width {
        "" => 1,
        width => width.parse().ok().filter(|w| (1..=20).contains(w))?,
    };
    (bytes.get(end) == Some(&b'd')).then_some((start, width, end + 1))
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

/// Whether a path contains a placeholder for the frame number. A file of this very name is that file: `IMG #2.jpg`.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.file_name().and_then(parts).is_some() && !path.exists()
}

/// The name of a frame.
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
    let wrong = || format!("'{text}' is not a range of frames; expected FIRST..LAST, such as 0..9");
    let (a, b) = text.split_once("..").unwrap_or((text, text));
    match (a.parse(), b.trim_start_matches('=').parse()) {
        (Ok(a), Ok(b)) if a <= b => Ok(a..=b),
        _ => Err(wrong()),
    }
}

/// The numbers of the existing frames, in order.
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
        let message = format!("{}: no such file", pattern.display());
        return Err(Error::input(message).into());
    }
    Ok(numbers)
}

/// The numbers of the frames of a sequence: those of a range, or all that exist.
pub(crate) fn frames_of(from: &Path, range: Option<&RangeInclusive<u32>>) -> Result<Vec<u32>> {
    match range {
        Some(range) => Ok(range.clone().collect()),
        None => found(from),
    }
}

/// Whether all results of a sequence exist.
pub(crate) fn is_done(job: &Job, range: Option<&RangeInclusive<u32>>) -> Result<bool> {
    let frames = frames_of(&job.from, range)?;
    Ok(frames.iter().all(|n| numbered(&job.to, *n).exists()))
}

/// A job: input and output patterns.
pub(crate) struct Shot<'a> {
    pub(crate) from: &'a Path,
    pub(crate) to: &'a Path,
    /// Which frames; `None` for all existing ones.
    pub(crate) frames: Option<RangeInclusive<u32>>,
    pub(crate) reader: &'a Reader,
    /// Whether existing results are kept.
    pub(crate) resume: bool,
    /// Whether results depend on earlier frames.
    pub(crate) history: bool,
    /// How many frames before and after a frame its result depends on, if it depends on later ones.
    pub(crate) around: usize,
    pub(crate) write: &'a WriteOptions,
    /// Whether frames that fail are reported as JSON.
    pub(crate) json: bool,
}

/// A frame that is waiting for its result.
struct Waiting {
    job: Job,
    /// Whether its result is written; neighbours of a range are read for the results of others.
    wanted: bool,
    begin: Instant,
    origin: io::Origin,
    layers: Vec<String>,
}

/// What is known of a frame with a result.
pub(crate) struct FinishedFrame {
    pub(crate) job: Job,
    pub(crate) begin: Instant,
    pub(crate) layers: Vec<String>,
}

/// A frame on its way to its file.
struct OutputFrame {
    to: PathBuf,
    frame: Frame,
    origin: io::Origin,
}

impl Shot<'_> {
    /// Runs the method on all frames, in order. A frame that cannot be read is skipped and counted.
    pub(crate) fn run(
        &self,
        sequence: &mut Sequence,
        mut done: impl FnMut(FinishedFrame, &Sequence) -> Result<()>,
    ) -> Result<()> {
        let frames = frames_of(self.from, self.frames.as_ref())?;
        for n in &frames {
            let file = numbered(self.from, *n);
            if !file.exists() {
                let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
                return Err(Error::io(file, missing).into());
            }
        }
        let all = self.with_neighbours(&frames);
        let todo = self.left(&all);
        let (pictures, next) = sync_channel(1);
        let (made, last) = sync_channel(1);
        let failed = std::thread::scope(|scope| {
            scope.spawn(move || self.reading(todo, &pictures));
            let writer = scope.spawn(move || writing(&last, self.write));
            let worked = self.work(todo, sequence, (&next, &made), &mut done);
            // The writer ends when nothing more can come, the reader when its channel is closed.
            drop((made, next));
            let written = writer
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("the writing thread stopped")));
            worked.and_then(|failed| written.map(|()| failed))
        })?;
        match failed {
            0 => Ok(()),
            count => anyhow::bail!(
                "{}: {count} of {} frames failed",
                self.from.display(),
                todo.len()
            ),
        }
    }

    /// The frames of a range, and those around it that their results depend on, as far as they exist without a gap.
    fn with_neighbours(&self, frames: &[u32]) -> Vec<u32> {
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
            return Vec::new();
        };
        let exists = |n: &u32| numbered(self.from, *n).exists();
        let around = self.around.min(*first as usize) as u32;
        let before = (first - around..*first).rev().take_while(exists);
        let mut all: Vec<u32> = before.collect();
        all.reverse();
        all.extend(frames);
        let after = (1..=self.around as u32).map_while(|n| last.checked_add(n));
        all.extend(after.take_while(exists));
        all
    }

    /// Whether the result of a frame is written.
    fn is_wanted(&self, n: u32) -> bool {
        self.frames.as_ref().is_none_or(|range| range.contains(&n))
    }

    /// Frames to process: all, or from a few before the first missing result.
    fn left<'f>(&self, frames: &'f [u32]) -> &'f [u32] {
        if !self.resume {
            return frames;
        }
        let there = |n: &u32| !self.is_wanted(*n) || numbered(self.to, *n).exists();
        let first = frames.iter().position(|n| !there(n));
        let before = if self.history {
            WARM_UP as usize
        } else {
            self.around
        };
        match first {
            Some(first) => &frames[first.saturating_sub(before)..],
            None => &[],
        }
    }

    /// Returns how many frames could not be read.
    fn work(
        &self,
        frames: &[u32],
        sequence: &mut Sequence,
        (next, made): (&Receiver<Result<Picture>>, &SyncSender<OutputFrame>),
        done: &mut impl FnMut(FinishedFrame, &Sequence) -> Result<()>,
    ) -> Result<usize> {
        let mut failed = 0;
        // Frames whose results are still to come.
        let mut waiting = VecDeque::new();
        let steps = frames.windows(2).map(|pair| pair[1] - pair[0]);
        let step = steps.min().unwrap_or(1);
        let mut last = None;
        for n in frames {
            let job = Job {
                from: numbered(self.from, *n),
                to: numbered(self.to, *n),
            };
            let Ok(picture) = next.recv() else {
                break;
            };
            let begin = Instant::now();
            // Motion leads to the frame before. Where that is missing, a sequence ends.
            let moves = picture
                .as_ref()
                .is_ok_and(|p| p.frame.get(Kind::Motion).is_some());
            if moves && last.is_some_and(|last| *n > last + step) {
                let results = sequence.finish(&say::quiet())?;
                if !self.send(&mut waiting, results, sequence, (made, done))? {
                    return Ok(failed);
                }
            }
            if picture.is_ok() {
                last = Some(*n);
            }
            let worked = say::about(&job.from, || -> Result<_> {
                let picture = picture?;
                say::notes(&picture.notes);
                let watch = say::watch(&job.from.display().to_string());
                let results = sequence
                    .push(&picture.frame, &watch)
                    .with_context(|| job.from.display().to_string())?;
                watch.check()?;
                Ok((results, picture.origin, report::layers(&picture.frame)))
            });
            let (results, origin, layers) = match worked {
                Ok(worked) => worked,
                // The frames of a sequence are alike: what an option refuses, it refuses for all.
                Err(error)
                    if say::ends_all(&error) || say::is_usage(&error) || frames.len() == 1 =>
                {
                    return Err(error);
                }
                Err(error) => {
                    say::error(&error);
                    if self.json {
                        report::failure(&job.from, &error);
                    }
                    failed += 1;
                    // Frames that looked ahead to it are finished without it, unless the device failed.
                    let left = sequence.waiting();
                    failed += waiting.len().saturating_sub(left);
                    waiting.truncate(left);
                    continue;
                }
            };
            waiting.push_back(Waiting {
                job,
                wanted: self.is_wanted(*n),
                begin,
                origin,
                layers,
            });
            if !self.send(&mut waiting, results, sequence, (made, done))? {
                return Ok(failed);
            }
        }
        let watch = say::quiet();
        let results = sequence.finish(&watch)?;
        watch.check()?;
        self.send(&mut waiting, results, sequence, (made, done))?;
        Ok(failed)
    }

    /// Sends results to the writer, for the frames that have waited longest. False if the writer has ended; its error is reported
    /// when it is joined.
    fn send(
        &self,
        waiting: &mut VecDeque<Waiting>,
        results: Vec<Frame>,
        sequence: &Sequence,
        (made, done): (
            &SyncSender<OutputFrame>,
            &mut impl FnMut(FinishedFrame, &Sequence) -> Result<()>,
        ),
    ) -> Result<bool> {
        for frame in results {
            let Some(waited) = waiting.pop_front() else {
                break;
            };
            let Waiting {
                job,
                wanted,
                begin,
                origin,
                layers,
            } = waited;
            if !wanted || (self.resume && job.to.exists()) {
                continue;
            }
            let to = job.to.clone();
            if made.send(OutputFrame { to, frame, origin }).is_err() {
                return Ok(false);
            }
            done(FinishedFrame { job, begin, layers }, sequence)?;
        }
        Ok(true)
    }

    fn reading(&self, frames: &[u32], pictures: &SyncSender<Result<Picture>>) {
        for n in frames {
            let picture = self.reader.read(&numbered(self.from, *n), Some(*n));
            if pictures.send(picture).is_err() {
                return;
            }
        }
    }
}

fn writing(made: &Receiver<OutputFrame>, options: &WriteOptions) -> Result<()> {
    for OutputFrame { to, frame, origin } in made {
        say::notes(&io::write(&to, &frame, Some(&origin), options)?);
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
        assert_eq!(name("a.%04d.exr"), "a.0007.exr");
        assert_eq!(name("a%d.exr"), "a7.exr");
        assert_eq!(name("100%.exr"), "100%.exr");
        assert_eq!(name("%x4d.exr"), "%x4d.exr");
        assert_eq!(range("3..9").unwrap(), 3..=9);
        assert_eq!(range("4").unwrap(), 4..=4);
        assert!(range("9..3").is_err());
    }
}
