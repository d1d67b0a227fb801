//! TIFF files of several pages: stacks of microscopes, scanned documents.
//!
//! A page is read like a file of its own: the chain of directories is cut before and behind it. Written pages are files of
//! their own too, whose positions are moved and whose directories are linked.

use crate::tiff::previews;
use crate::{Format, Origin, Picture, ReadOptions, WriteOptions};
use limpid_core::{Error, Frame, Result};
use std::path::{Path, PathBuf};

/// The most pages of a file: a chain of directories that leads back to itself ends there.
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
    form: Form,
    /// Where the directory of each page is.
    directories: Vec<u64>,
}

/// How a file writes numbers.
#[derive(Debug, Clone, Copy)]
struct Form {
    little: bool,
    /// Positions of 64 bits.
    big: bool,
}

impl Form {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (little, big) = match bytes.get(..4)? {
            b"II*\0" => (true, false),
            b"MM\0*" => (false, false),
            b"II+\0" => (true, true),
            b"MM\0+" => (false, true),
            _ => return None,
        };
        Some(Self { little, big })
    }

    fn number(self, bytes: &[u8], at: u64, length: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let own = bytes.get(at..at.checked_add(length)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.little {
            true => own.iter().rev().fold(0, add),
            false => own.iter().fold(0, add),
        })
    }

    fn put(self, bytes: &mut [u8], at: u64, length: usize, value: u64) {
        let own = usize::try_from(at)
            .ok()
            .and_then(|at| bytes.get_mut(at..at + length));
        for (i, byte) in own.into_iter().flatten().enumerate() {
            let place = if self.little { i } else { length - 1 - i };
            *byte = (value >> (8 * place)) as u8;
        }
    }

    /// Bytes of a position.
    fn position(self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// Where the position of the first directory is.
    fn first(self) -> u64 {
        if self.big { 8 } else { 4 }
    }

    /// Where the position of the next directory is.
    fn next(self, bytes: &[u8], directory: u64) -> Option<u64> {
        let (count, entry) = if self.big { (8, 20) } else { (2, 12) };
        let entries = self.number(bytes, directory, count)?;
        directory
            .checked_add(count as u64)?
            .checked_add(entries.checked_mul(entry)?)
    }
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
        if !head(path).is_ok_and(|head| Form::of(&head).is_some()) {
            return Ok(None);
        }
        let (bytes, format, _) = crate::load(path, options.limit)?;
        let Some(form) = Form::of(&bytes).filter(|_| format == Format::Tiff) else {
            return Ok(None);
        };
        let mut directories = Vec::new();
        let mut link = Some(form.first());
        while let Some(at) = link {
            let directory = form.number(&bytes, at, form.position()).unwrap_or(0);
            if directory == 0 || directories.len() == MOST {
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
        let (first, length) = (form.first(), form.position());
        let next = form.next(&self.bytes, directory).unwrap_or(u64::MAX);
        let before = [first, next].map(|at| form.number(&self.bytes, at, length));
        form.put(&mut self.bytes, first, length, directory);
        form.put(&mut self.bytes, next, length, 0);
        let made = crate::guard(path, || {
            crate::read_bytes(&*self.bytes, Format::Tiff, path, options)
        });
        for (at, value) in [first, next].into_iter().zip(before) {
            if let Some(value) = value {
                form.put(&mut self.bytes, at, length, value);
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
    link: u64,
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
        let form = Form::of(&page).filter(|form| !form.big).ok_or_else(wrong)?;
        if self.bytes.is_empty() {
            self.link = end_of_chain(form, &page).ok_or_else(wrong)?;
            self.bytes = page;
            return Ok(());
        }
        // Directories begin at even positions.
        self.bytes.resize(self.bytes.len().next_multiple_of(2), 0);
        let base = self.bytes.len() as u64;
        if base + page.len() as u64 > u64::from(u32::MAX) {
            return Err(wrong());
        }
        let mut page = page;
        let directory = moved(form, &mut page, base).ok_or_else(wrong)?;
        let link = end_of_chain(form, &page).ok_or_else(wrong)?;
        form.put(&mut self.bytes, self.link, 4, base + directory);
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

/// Where the position that would follow the only directory is.
fn end_of_chain(form: Form, page: &[u8]) -> Option<u64> {
    form.next(page, form.number(page, form.first(), 4)?)
}

/// Adds `base` to all positions in a file of one page, but those of its header and of the chain. Returns where its directory is.
fn moved(form: Form, page: &mut [u8], base: u64) -> Option<u64> {
    let directory = form.number(page, form.first(), 4)?;
    for entry in 0..form.number(page, directory, 2)? {
        let at = directory + 2 + 12 * entry;
        let tag = form.number(page, at, 2)?;
        let count = form.number(page, at + 4, 4)?;
        let size = match form.number(page, at + 2, 2)? {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => 1,
        };
        let value = at + 8;
        let apart = count.checked_mul(size)? > 4;
        let first = match apart {
            true => form.number(page, value, 4)?,
            false => value,
        };
        // Strips, tiles.
        if matches!(tag, 273 | 324) && size == 4 {
            for i in 0..count {
                let position = form.number(page, first + 4 * i, 4)?;
                form.put(page, first + 4 * i, 4, position + base);
            }
        }
        if apart {
            form.put(page, value, 4, first + base);
        }
    }
    Some(directory)
}
