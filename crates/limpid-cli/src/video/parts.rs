//! Films that are written in parts, so that a run that was interrupted can go on.
//!
//! A folder beside the result holds finished parts, each a film of its own in the container of the result, and a list of them. Parts
//! begin with a key frame. When all are there, they are joined without encoding them again, and everything else of the source is
//! added then. Without the list, or with that of another run, the film begins anew.

use super::encoder::{Encoder, Film};
use super::matroska;
use crate::say;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Frames of a part: as many as encoders usually put between two key frames at most.
pub(super) const LENGTH: u64 = 250;

/// What goes on.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    /// How many frames before a frame its result depends on.
    pub(crate) before: u64,
    /// Source and settings: parts of other ones do not fit.
    pub(crate) made_by: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct List {
    made_by: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Part {
    frames: u64,
    /// The time of the first frame, in nanoseconds.
    begin: i64,
}

/// A part that is being written.
struct Open {
    encoder: Encoder,
    to: matroska::Writer<Box<dyn Write + Send>>,
    part: Part,
}

/// A film in parts.
pub(super) struct Parts<'a> {
    film: Film<'a>,
    code: [u8; 4],
    folder: PathBuf,
    /// Locked while this run writes.
    _lock: File,
    list: List,
    open: Option<Open>,
    /// The part before, whose encoder may still have frames to write.
    ending: Option<(Encoder, Part)>,
}

impl<'a> Parts<'a> {
    /// The parts that an earlier run has left, or none.
    pub(super) fn open(film: &Film<'a>, resume: &Resume) -> Result<Self> {
        let name = film.to.file_name().unwrap_or_default().to_string_lossy();
        let folder = film.to.with_file_name(format!("{name}.limpid"));
        let named = || folder.display().to_string();
        std::fs::create_dir_all(&folder).with_context(named)?;
        let lock = File::create(folder.join("lock")).with_context(named)?;
        if lock.try_lock().is_err() {
            anyhow::bail!("{}: another run writes this film", named());
        }
        let empty = List {
            made_by: resume.made_by.clone(),
            parts: Vec::new(),
        };
        let list = match std::fs::read(folder.join(LIST)) {
            Ok(text) => match serde_json::from_slice::<List>(&text) {
                Ok(list) if list.made_by == resume.made_by => list,
                _ => {
                    let told = "its parts are of another source or other settings; it begins anew";
                    say::notes(&[format!("{}: {told}", film.to.display())]);
                    empty
                }
            },
            Err(_) => empty,
        };
        let code = matroska::code(film.header)
            .with_context(|| format!("ffmpeg does not take frames of {} bits", film.header.bits))?;
        let mut parts = Self {
            film: *film,
            code,
            folder,
            _lock: lock,
            list,
            open: None,
            ending: None,
        };
        let there = |n: &usize| parts.path(*n).is_file();
        let whole = (0..parts.list.parts.len()).take_while(there).count();
        parts.list.parts.truncate(whole);
        parts.tidy()?;
        let done = parts.done();
        if done > 0 && !say::is_quiet() {
            let name = film.to.display();
            say::line(&format!("{name}: goes on after {done} frames"));
        }
        Ok(parts)
    }

    /// Frames that are there.
    pub(super) fn done(&self) -> u64 {
        self.list.parts.iter().map(|part| part.frames).sum()
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        self.film.to.display().to_string()
    }

    fn path(&self, number: usize) -> PathBuf {
        let extension = self.film.to.extension().unwrap_or_default();
        let extension = extension.to_string_lossy();
        self.folder.join(format!("{number:05}.{extension}"))
    }

    /// Removes what is not listed.
    fn tidy(&self) -> Result<()> {
        let listed: Vec<PathBuf> = (0..self.list.parts.len()).map(|n| self.path(n)).collect();
        let kept = |path: &Path| {
            let own = path.file_name().is_some_and(|n| n == LIST || n == "lock");
            own || listed.iter().any(|known| known == path)
        };
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if !kept(&path) && path.is_file() {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Writes the next frame, with its time in nanoseconds.
    pub(super) fn write(&mut self, time: i64, bytes: &[u8]) -> Result<()> {
        if self.open.as_ref().is_some_and(|o| o.part.frames == LENGTH) {
            self.close()?;
        }
        let ended = |(encoder, _): &mut (Encoder, Part)| encoder.has_ended();
        if self.ending.as_mut().is_some_and(ended) {
            self.end_last()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin(time)?,
        };
        let written = open.to.write(time - open.part.begin, bytes);
        open.part.frames += 1;
        self.open = Some(open);
        Ok(written?)
    }

    fn begin(&self, time: i64) -> Result<Open> {
        let number = self.list.parts.len() + usize::from(self.ending.is_some());
        let mut encoder = Encoder::of_part(&self.film, &self.path(number))?;
        let stream = encoder.stream().context("the part was opened twice")?;
        let to = matroska::Writer::new(stream, self.film.header, self.code, self.film.tags)?;
        let part = Part {
            frames: 0,
            begin: time,
        };
        Ok(Open { encoder, to, part })
    }

    /// Ends a part. Its encoder may take a while; meanwhile the next part begins.
    fn close(&mut self) -> Result<()> {
        self.end_last()?;
        if let Some(open) = self.open.take() {
            open.to.finish()?;
            self.ending = Some((open.encoder, open.part));
        }
        Ok(())
    }

    /// Waits for the part before, and lists it.
    fn end_last(&mut self) -> Result<()> {
        let Some((encoder, part)) = self.ending.take() else {
            return Ok(());
        };
        encoder.finish()?;
        let path = self.path(self.list.parts.len());
        File::open(&path)?.sync_all()?;
        self.list.parts.push(part);
        let text = serde_json::to_vec(&self.list)?;
        limpid::io::write_whole(&self.folder.join(LIST), &text)?;
        Ok(())
    }

    /// After the last frame.
    pub(super) fn end(&mut self) -> Result<()> {
        self.close()?;
        self.end_last()
    }

    /// Joins the parts to the film, and removes them.
    pub(super) fn join(mut self) -> Result<()> {
        // An encoder that has stopped says why.
        let open = self.open.take().map(|open| open.encoder);
        let ending = self.ending.take().map(|(encoder, _)| encoder);
        for encoder in ending.into_iter().chain(open) {
            encoder.finish()?;
        }
        let mut text = "ffconcat version 1.0\n".to_owned();
        // Rounded once, so that errors do not add up.
        let micros = |part: &Part| (part.begin + 500) / 1000;
        for (number, part) in self.list.parts.iter().enumerate() {
            let path = self.path(number);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            text += &format!("file {name}\n");
            if let Some(next) = self.list.parts.get(number + 1) {
                let length = micros(next) - micros(part);
                text += &format!(
                    "duration {}.{:06}\n",
                    length / 1_000_000,
                    length % 1_000_000
                );
            }
        }
        let list = self.folder.join("parts.ffconcat");
        limpid::io::write_whole(&list, text.as_bytes())?;
        Encoder::of_parts(&self.film, &list)?.finish()?;
        std::fs::remove_dir_all(&self.folder).with_context(|| self.folder.display().to_string())
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        // Ends the encoders.
        (self.open, self.ending) = (None, None);
        let _ = match self.list.parts.is_empty() {
            true => std::fs::remove_dir_all(&self.folder).map_err(Into::into),
            false => self.tidy(),
        };
    }
}

/// The name of the list of parts.
const LIST: &str = "parts.json";
