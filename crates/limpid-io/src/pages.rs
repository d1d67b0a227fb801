//! TIFF files of several pages: stacks of microscopes, scanned documents.
//!
//! A page is read like a file of its own: the chain of directories is cut before and behind it. Written pages are files of
//! their own too, whose positions are moved and whose directories are linked.

use crate::tiff::{Numbers, previews};
use crate::{Format, Origin, Picture, ReadOptions, WriteOptions};
use limpid_core::{Error, Frame, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The most pages of a file.
const MOST: usize = 1 << 16;

/// A TIFF file of several pages, one of which is read at a time.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
/// use limpid::{Frame, Image, io};
/// let path = std::env::temp_dir().join("limpid-io-pages.tif");
/// let mut writer = io::PageWriter::default();
/// for grey in [0.25, 0.5, 0.75] {
///     let frame = Frame::new(Image::from_fn(4, 3, 1, |_, _, _| grey))?;
///     writer.push(&frame, None, &io::WriteOptions::default())?;
/// }
/// writer.write(&path)?;
/// let mut pages = io::Pages::open(&path, &io::ReadOptions::default())?.expect("several pages");
/// assert_eq!(pages.count(), 3);
/// assert_eq!(pages.read(2, &io::ReadOptions::default())?.frame.color()?.get(0, 0, 0), 0.75);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug)]
pub struct Pages {
    bytes: Vec<u8>,
    path: PathBuf,
    form: Numbers,
    /// Where the directory of each page is.
    directories: Vec<usize>,
}

impl Pages {
    /// Opens a file; `None` if it is no TIFF, or has a single page, perhaps with smaller copies of it.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Option<Self>> {
        let path = path.as_ref();
        let head = |path: &Path| {
            let mut head = [0; 4];
            let mut file = std::fs::File::open(path)?;
            std::io::Read::read_exact(&mut file, &mut head)?;
            std::io::Result::Ok(head)
        };
        // What cannot be read is told by what reads it whole.
        if !head(path).is_ok_and(|head| Numbers::of(&head).is_some()) {
            return Ok(None);
        }
        let (bytes, format, _) = crate::load(path, options.limit)?;
        let Some(form) = Numbers::of(&bytes).filter(|_| format == Format::Tiff) else {
            return Ok(None);
        };
        let mut directories = Vec::new();
        let mut seen = HashSet::new();
        let mut link = Some(form.word());
        while let Some(directory) = link.and_then(|at| position(form, &bytes, at)) {
            // A chain that leads back to itself ends there.
            if directory == 0 || directories.len() == MOST || !seen.insert(directory) {
                break;
            }
            directories.push(directory);
            link = form.next(&bytes, directory);
        }
        if directories.len() < 2 || previews(&bytes).unwrap_or(true) {
            return Ok(None);
        }
        let path = path.to_owned();
        Ok(Some(Self {
            bytes,
            path,
            form,
            directories,
        }))
    }

    /// Number of pages.
    pub fn count(&self) -> usize {
        self.directories.len()
    }

    /// Reads a page, counted from 0.
    pub fn read(&mut self, page: usize, options: &ReadOptions) -> Result<Picture> {
        let (form, path) = (self.form, &self.path);
        let directory = self.directories.get(page).copied().ok_or_else(|| {
            let count = self.directories.len();
            Error::input(format!("{}: page {page} of {count}", path.display()))
        })?;
        // The page becomes the only one for as long as it is read.
        let (first, length) = (form.word(), form.word());
        let next = form.next(&self.bytes, directory).unwrap_or(usize::MAX);
        let before = [first, next].map(|at| form.number(&self.bytes, at, length));
        form.set(&mut self.bytes, first, length, directory as u64);
        form.set(&mut self.bytes, next, length, 0);
        let made = crate::guard(path, || {
            crate::read_bytes(&*self.bytes, Format::Tiff, path, options)
        });
        for (at, value) in [first, next].into_iter().zip(before) {
            if let Some(value) = value {
                form.set(&mut self.bytes, at, length, value);
            }
        }
        made
    }
}

/// Collects the pages of a TIFF file.
#[derive(Debug, Default)]
pub struct PageWriter {
    bytes: Vec<u8>,
    /// Where the position of the next page's directory is to be written.
    link: usize,
}

impl PageWriter {
    /// Adds a page, with notes on what could not be preserved of its origin.
    pub fn push(
        &mut self,
        frame: &Frame,
        origin: Option<&Origin>,
        options: &WriteOptions,
    ) -> Result<Vec<String>> {
        let (page, notes) = match origin {
            Some(origin) => crate::encode_like(Format::Tiff, frame, origin, options)?,
            None => (crate::encode(Format::Tiff, frame, options)?, Vec::new()),
        };
        self.append(page)?;
        Ok(notes)
    }

    fn append(&mut self, page: Vec<u8>) -> Result<()> {
        let wrong = || Error::unsupported("a TIFF file of more than 4 GiB; write fewer pages");
        let form = Numbers::of(&page)
            .filter(|form| !form.big)
            .ok_or_else(wrong)?;
        if self.bytes.is_empty() {
            self.link = end_of_chain(form, &page).ok_or_else(wrong)?;
            self.bytes = page;
            return Ok(());
        }
        // Directories begin at even positions.
        self.bytes.resize(self.bytes.len().next_multiple_of(2), 0);
        let base = self.bytes.len();
        if u32::try_from(base + page.len()).is_err() {
            return Err(wrong());
        }
        let mut page = page;
        let directory = moved(form, &mut page, base).ok_or_else(wrong)?;
        let link = end_of_chain(form, &page).ok_or_else(wrong)?;
        form.set(&mut self.bytes, self.link, 4, (base + directory) as u64);
        self.bytes.extend(page);
        self.link = base + link;
        Ok(())
    }

    /// Writes the file, completely or not at all.
    pub fn write(self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if Format::from_path(path)? != Format::Tiff {
            return Err(Error::unsupported(format!(
                "{}: only TIFF files have pages; choose a name in .tif",
                path.display()
            )));
        }
        if self.bytes.is_empty() {
            return Err(Error::input(format!("{}: no pages", path.display())));
        }
        crate::write_whole(path, &self.bytes)
    }
}

/// The position that stands at a position.
fn position(form: Numbers, bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(form.number(bytes, at, form.word())?).ok()
}

/// Where the position that would follow the only directory is.
fn end_of_chain(form: Numbers, page: &[u8]) -> Option<usize> {
    form.next(page, position(form, page, form.word())?)
}

/// Adds `base` to all positions in a file of one page, but those of its header and of the chain. Returns where its directory is.
fn moved(form: Numbers, page: &mut [u8], base: usize) -> Option<usize> {
    let directory = position(form, page, form.word())?;
    let begin = directory + form.head();
    let end = form.next(page, directory)?;
    for at in (begin..end).step_by(form.entry()) {
        let tag = form.number(page, at, 2)?;
        let count = position(form, page, at + 4)?;
        let size = match form.number(page, at + 2, 2)? {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => 1,
        };
        let value = at + 8;
        let apart = count.checked_mul(size)? > 4;
        let first = match apart {
            true => position(form, page, value)?,
            false => value,
        };
        // Strips, tiles.
        if matches!(tag, 273 | 324) && size == 4 {
            for at in (first..).step_by(4).take(count) {
                let own = position(form, page, at)?;
                form.set(page, at, 4, (own + base) as u64);
            }
        }
        if apart {
            form.set(page, value, 4, (first + base) as u64);
        }
    }
    Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_core::Image;

    #[test]
    fn a_chain_that_leads_back_ends() -> Result<()> {
        let mut writer = PageWriter::default();
        for _ in 0..3 {
            writer.push(
                &Frame::new(Image::new(4, 3, 1))?,
                None,
                &WriteOptions::default(),
            )?;
        }
        let form = Numbers::of(&writer.bytes).unwrap();
        let first = form.number(&writer.bytes, form.word(), 4).unwrap();
        let link = writer.link;
        form.set(&mut writer.bytes, link, 4, first);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("round.tif");
        std::fs::write(&path, &writer.bytes).unwrap();
        let mut pages = Pages::open(&path, &ReadOptions::default())?.unwrap();
        assert_eq!(pages.count(), 3);
        pages.read(2, &ReadOptions::default())?;
        Ok(())
    }
}
