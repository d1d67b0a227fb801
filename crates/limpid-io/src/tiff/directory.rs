//! The first directory of a TIFF file, changed in memory where the decoder does not read a file as it is: palettes, reversed
//! bits, and separate planes in tiles.

use super::Numbers;
use std::borrow::Cow;

/// Tags that are read or changed here.
mod tag {
    pub(super) const KIND: u16 = 254;
    pub(super) const BITS: u16 = 258;
    pub(super) const COMPRESSION: u16 = 259;
    pub(super) const PHOTOMETRIC: u16 = 262;
    pub(super) const FILL_ORDER: u16 = 266;
    pub(super) const STRIPS: u16 = 273;
    pub(super) const SAMPLES: u16 = 277;
    pub(super) const STRIP_LENGTHS: u16 = 279;
    pub(super) const PLANAR: u16 = 284;
    pub(super) const COLOR_MAP: u16 = 320;
    pub(super) const TILES: u16 = 324;
    pub(super) const TILE_LENGTHS: u16 = 325;
    pub(super) const CHILDREN: u16 = 330;
    pub(super) const EXTRA: u16 = 338;
    pub(super) const FORMAT: u16 = 339;
    pub(super) const CFA_PATTERN: u16 = 33422;
    pub(super) const DNG_VERSION: u16 = 50706;
    /// No meaning: takes the place of a tag that is hidden.
    pub(super) const HIDDEN: u16 = 65532;
}

/// Values of `PhotometricInterpretation`.
const BLACK_IS_ZERO: u64 = 1;
const PALETTE: u64 = 3;
const CFA: u64 = 32803;
const LINEAR_RAW: u64 = 34892;

/// Maximum number of directories that are visited: a corrupt file may contain a cycle.
const MOST: usize = 64;

/// One entry of a directory.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Its position in the file.
    at: usize,
    tag: u16,
    /// Bytes of one value; 0 for other types than unsigned integers.
    width: usize,
    count: usize,
}

/// A directory.
#[derive(Debug)]
pub(super) struct Directory {
    form: Numbers,
    entries: Vec<Entry>,
    /// The position of the next directory, or 0.
    next: usize,
}

impl Directory {
    /// The first directory of a file; `None` if it has none.
    pub(super) fn first(bytes: &[u8]) -> Option<Self> {
        let form = Numbers::of(bytes)?;
        let at = form.number(bytes, form.word(), form.word())?;
        Self::read(bytes, form, usize::try_from(at).ok()?)
    }

    fn read(bytes: &[u8], form: Numbers, at: usize) -> Option<Self> {
        let head = form.head();
        let count = usize::try_from(form.number(bytes, at, head)?).ok()?;
        let begin = at.checked_add(head)?;
        let end = begin.checked_add(count.checked_mul(form.entry())?)?;
        if end > bytes.len() {
            return None;
        }
        let entry = |at: usize| {
            let width = match form.number(bytes, at + 2, 2)? {
                1 => 1,
                3 => 2,
                4 | 13 => 4,
                16 | 18 => 8,
                _ => 0,
            };
            Some(Entry {
                at,
                tag: form.number(bytes, at, 2)? as u16,
                width,
                count: usize::try_from(form.number(bytes, at + 4, form.word())?).ok()?,
            })
        };
        let entries = (0..count).filter_map(|i| entry(begin + i * form.entry()));
        let next = form.number(bytes, end, form.word()).unwrap_or(0);
        Some(Self {
            form,
            entries: entries.collect(),
            next: usize::try_from(next).unwrap_or(0),
        })
    }

    fn entry(&self, tag: u16) -> Option<Entry> {
        self.entries.iter().find(|e| e.tag == tag).copied()
    }

    /// The position of an entry's values.
    fn place(&self, bytes: &[u8], entry: Entry) -> Option<usize> {
        let inside = entry.at + 4 + self.form.word();
        match entry.width.checked_mul(entry.count)? <= self.form.word() {
            true => Some(inside),
            false => usize::try_from(self.form.number(bytes, inside, self.form.word())?).ok(),
        }
    }

    /// The values of an entry; empty if it is missing or corrupt.
    pub(super) fn values(&self, bytes: &[u8], tag: u16) -> Vec<u64> {
        let values = || -> Option<Vec<u64>> {
            let entry = self.entry(tag).filter(|e| e.width > 0)?;
            let place = self.place(bytes, entry)?;
            let length = entry.width.checked_mul(entry.count)?;
            bytes.get(place..place.checked_add(length)?)?;
            let value = |i| {
                self.form
                    .number(bytes, place + i * entry.width, entry.width)
            };
            (0..entry.count).map(value).collect()
        };
        values().unwrap_or_default()
    }

    fn value(&self, bytes: &[u8], tag: u16) -> Option<u64> {
        self.values(bytes, tag).first().copied()
    }

    /// Makes an entry one number.
    fn set(&self, bytes: &mut [u8], tag: u16, value: u64) {
        if let Some(entry) = self.entry(tag).filter(|e| e.width > 0) {
            let word = self.form.word();
            self.form.set(bytes, entry.at + 4, word, 1);
            self.form
                .set(bytes, entry.at + 4 + word, entry.width, value);
        }
    }

    /// The name of a kind of samples that is not read.
    pub(super) fn unread_color(&self, bytes: &[u8]) -> Option<String> {
        match self.value(bytes, tag::PHOTOMETRIC) {
            Some(5) => return Some("CMYK".to_owned()),
            Some(8..=10) => return Some("Lab".to_owned()),
            Some(32844 | 32845) => return Some("LogLuv".to_owned()),
            _ => {}
        }
        let bits = self.value(bytes, tag::BITS)?;
        let known = [1, 2, 4, 8, 16, 32, 64].contains(&bits);
        (!known).then(|| format!("{bits} bit samples"))
    }

    /// The name of the file's compression, if it is not read.
    pub(super) fn unread(&self, bytes: &[u8]) -> Option<&'static str> {
        Some(match self.value(bytes, tag::COMPRESSION)? {
            2 => "CCITT run lengths",
            3 => "fax group 3",
            6 => "old-style JPEG",
            32766 => "NeXT run lengths",
            32809 => "ThunderScan",
            34661 => "JBIG",
            34676 | 34677 => "SGI LogLuv",
            33003 | 33005 | 34712 => "JPEG 2000",
            34887 => "LERC",
            34892 => "lossy JPEG of raw files",
            34925 => "LZMA",
            50000 | 34926 => "Zstandard",
            50002 | 52546 => "JPEG XL",
            _ => return None,
        })
    }

    /// The colours of a palette, if the file has one.
    pub(super) fn palette(&self, bytes: &[u8]) -> Option<Vec<u16>> {
        if self.value(bytes, tag::PHOTOMETRIC) != Some(PALETTE) {
            return None;
        }
        let map = self.values(bytes, tag::COLOR_MAP).into_iter();
        Some(map.map(|v| v.min(65535) as u16).collect())
    }

    /// The file with the decoder's order of bits, and indices for grey values.
    pub(super) fn plain<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut plain = Cow::Borrowed(bytes);
        if self.value(bytes, tag::PHOTOMETRIC) == Some(PALETTE) {
            self.set(plain.to_mut(), tag::PHOTOMETRIC, BLACK_IS_ZERO);
        }
        // JPEG data have their own order.
        let jpeg = self.value(bytes, tag::COMPRESSION) == Some(7);
        if self.value(bytes, tag::FILL_ORDER) == Some(2) && !jpeg {
            let to = plain.to_mut();
            for (places, lengths) in [
                (tag::STRIPS, tag::STRIP_LENGTHS),
                (tag::TILES, tag::TILE_LENGTHS),
            ] {
                let (places, lengths) = (self.values(bytes, places), self.values(bytes, lengths));
                for (place, length) in places.into_iter().zip(lengths) {
                    let skip = usize::try_from(place).unwrap_or(usize::MAX);
                    let take = usize::try_from(length).unwrap_or(usize::MAX);
                    let bytes = to.iter_mut().skip(skip).take(take);
                    bytes.for_each(|byte| *byte = byte.reverse_bits());
                }
            }
        }
        plain
    }

    /// The number of separate planes.
    pub(super) fn planes(&self, bytes: &[u8]) -> usize {
        match self.value(bytes, tag::PLANAR) {
            Some(2) => self.value(bytes, tag::SAMPLES).unwrap_or(1) as usize,
            _ => 1,
        }
    }

    /// Makes the file one with a single plane of several, stored as grey. `bytes` is a copy of `original`.
    pub(super) fn select(&self, original: &[u8], bytes: &mut [u8], plane: usize, planes: usize) {
        let first = |tag, other| self.value(original, tag).unwrap_or(other);
        self.set(bytes, tag::SAMPLES, 1);
        self.set(bytes, tag::PLANAR, 1);
        self.set(bytes, tag::BITS, first(tag::BITS, 8));
        self.set(bytes, tag::FORMAT, first(tag::FORMAT, 1));
        // Only the first plane of white-is-zero files is inverted; the other one is alpha.
        if plane > 0 || first(tag::PHOTOMETRIC, 0) > BLACK_IS_ZERO {
            self.set(bytes, tag::PHOTOMETRIC, BLACK_IS_ZERO);
        }
        if let Some(extra) = self.entry(tag::EXTRA) {
            self.form.set(bytes, extra.at, 2, tag::HIDDEN.into());
        }
        for tag in [
            tag::STRIPS,
            tag::STRIP_LENGTHS,
            tag::TILES,
            tag::TILE_LENGTHS,
        ] {
            let (Some(entry), values) = (self.entry(tag), self.values(original, tag)) else {
                continue;
            };
            let Some(place) = self.place(original, entry) else {
                continue;
            };
            let share = entry.count / planes.max(1);
            let word = self.form.word();
            self.form.set(bytes, entry.at + 4, word, share as u64);
            if share * entry.width > word {
                let place = place + plane * share * entry.width;
                self.form
                    .set(bytes, entry.at + 4 + word, word, place as u64);
            } else {
                for (i, value) in values.iter().skip(plane * share).take(share).enumerate() {
                    let at = entry.at + 4 + word + i * entry.width;
                    self.form.set(bytes, at, entry.width, *value);
                }
            }
        }
    }

    /// Whether the file is a camera's, whose picture is not developed: it holds the values of a sensor.
    pub(super) fn is_raw(&self, bytes: &[u8]) -> bool {
        let raw = |d: &Self| {
            let kind = d.value(bytes, tag::PHOTOMETRIC);
            matches!(kind, Some(CFA | LINEAR_RAW))
                || d.entry(tag::CFA_PATTERN).is_some()
                || d.entry(tag::DNG_VERSION).is_some()
        };
        raw(self) || self.others(bytes).iter().any(raw)
    }

    /// Whether the first image of the file is a smaller copy of another one.
    pub(super) fn is_preview(&self, bytes: &[u8]) -> bool {
        let small = |d: &Self| d.value(bytes, tag::KIND).unwrap_or(0) & 1 == 1;
        small(self) && self.others(bytes).iter().any(|d| !small(d))
    }

    /// The directories after this one, and those inside it.
    fn others(&self, bytes: &[u8]) -> Vec<Self> {
        let mut places = self.values(bytes, tag::CHILDREN);
        places.push(self.next as u64);
        let mut found: Vec<Self> = Vec::new();
        while let Some(place) = places.pop()
            && found.len() < MOST
        {
            let place = usize::try_from(place).unwrap_or(0);
            if place > 0
                && let Some(directory) = Self::read(bytes, self.form, place)
            {
                places.push(directory.next as u64);
                found.push(directory);
            }
        }
        found
    }
}
