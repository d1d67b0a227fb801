//! Numbered pictures as a film, and a film as numbered pictures.

use crate::shot;
use anyhow::{Context, Result};
use limpid::io::y4m::{Chroma, Header, Matrix};
use limpid::io::{self, Bits, Transfer, WriteOptions};
use limpid::metric::Space;
use limpid::{Error, Frame, Image, Layer};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The frames of numbered pictures, as display values.
pub(super) struct Pictures {
    pattern: PathBuf,
    numbers: std::vec::IntoIter<u32>,
    header: Header,
}

impl Pictures {
    /// `fine` keeps the chroma of every pixel, which many players do not show.
    pub(super) fn open(
        pattern: &Path,
        range: Option<&RangeInclusive<u32>>,
        rate: (u32, u32),
        fine: bool,
    ) -> Result<Self> {
        let numbers = shot::frames_of(pattern, range)?;
        let first = numbers.first().copied().unwrap_or_default();
        let first = shot::numbered(pattern, first);
        let facts = io::inspect(&first, &crate::run::read_options())?;
        let part = facts.parts.first().context("the picture is empty")?;
        let channels = || part.layers.iter().flat_map(|l| &l.channels);
        let deep = channels().any(|c| !c.sample.starts_with("8 bit"));
        let grey = channels().count() < 3;
        let form = match (grey, fine, deep) {
            (true, _, false) => "mono",
            (true, _, true) => "mono16",
            (false, true, _) => "444p16",
            (false, false, false) => "420",
            (false, false, true) => "420p10",
        };
        let header = Header::new(part.size, form, rate)?.with_matrix(Matrix::Bt709);
        Ok(Self {
            pattern: pattern.to_owned(),
            numbers: numbers.into_iter(),
            header,
        })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn len(&self) -> u64 {
        self.numbers.len() as u64
    }

    pub(super) fn next(&mut self) -> limpid::Result<Option<Image>> {
        let Some(number) = self.numbers.next() else {
            return Ok(None);
        };
        let file = shot::numbered(&self.pattern, number);
        let mut picture = io::read(&file, &crate::run::read_options())?;
        let missing = || Error::input(format!("{}: there is no colour", file.display()));
        let image = picture.frame.remove(Layer::COLOR).ok_or_else(missing)?;
        if image.size() != self.header.size {
            return Err(Error::input(format!(
                "{} is {}, but the first picture is {}; the frames of a film have one size",
                file.display(),
                image.size(),
                self.header.size
            )));
        }
        let image = match picture.origin.transfer() {
            Transfer::Linear => Space::Linear.convert(&image, Space::Display),
            Transfer::Encoded => image,
        };
        let grey = self.header.chroma == Chroma::Mono;
        let (width, height) = (image.width(), image.height());
        Ok(Some(match (grey, image.channels()) {
            (true, 1) | (false, 3) => image,
            (true, _) => Image::from_fn(width, height, 1, |x, y, _| image.get(x, y, 0)),
            (false, has) => Image::from_fn(width, height, 3, |x, y, c| {
                image.get(x, y, if has < 3 { 0 } else { c })
            }),
        }))
    }
}

/// Writes frames as numbered pictures.
pub(super) struct Album {
    pub(super) pattern: PathBuf,
    pub(super) next: u32,
    pub(super) options: WriteOptions,
    /// Whether two images are the fields of a frame.
    fields: bool,
    /// Pictures that an earlier run has written.
    done: u32,
    /// The even rows of a frame whose odd rows have not come yet.
    even: Option<Image>,
}

impl Album {
    /// Frames count from `first`.
    pub(super) fn new(
        pattern: &Path,
        first: u32,
        (bits, fields): (u32, bool),
        quality: Option<u8>,
    ) -> Self {
        let mut options = WriteOptions::default();
        options.transfer = Some(Transfer::Encoded);
        options.bits = (bits > 8).then_some(Bits::Sixteen);
        options.quality = quality;
        Self {
            pattern: pattern.to_owned(),
            next: first,
            options,
            fields,
            done: 0,
            even: None,
        }
    }

    /// Begins after the pictures that are there.
    pub(super) fn keep_existing(&mut self) {
        while shot::numbered(&self.pattern, self.next).exists() {
            self.next += 1;
            self.done += 1;
        }
    }

    /// Pictures that an earlier run has written.
    pub(super) fn done(&self) -> u64 {
        self.done.into()
    }

    pub(super) fn write(&mut self, image: &Image) -> Result<()> {
        let image = match (self.fields, self.even.take()) {
            (false, _) => image.clone(),
            (true, None) => {
                self.even = Some(image.clone());
                return Ok(());
            }
            (true, Some(even)) => {
                let (width, height) = (image.width(), 2 * image.height());
                Image::from_fn(width, height, image.channels(), |x, y, c| {
                    if y % 2 == 0 { &even } else { image }.get(x, y / 2, c)
                })
            }
        };
        let file = shot::numbered(&self.pattern, self.next);
        let frame = Frame::new(image)?;
        crate::say::notes(&io::write(&file, &frame, None, &self.options)?);
        self.next += 1;
        Ok(())
    }
}
