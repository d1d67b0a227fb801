//! OpenEXR.
//!
//! A file is read completely: every part and channel in its own sample type ([`Source`]), so that everything can be written
//! back. [`assign`] determines which channels are layers of a frame.
//!
//! Invariants: an unchanged value is written back with the same bits; channels that are not layers, and
//! layers that the written frame does not have, are preserved.

mod assign;
mod blocks;
mod chroma;
mod coarse;
pub(super) mod codec;
mod deep;
mod htj2k;
mod noisy;
mod read;
mod view;
mod write;

use self::assign::{Divide, Mapped};
use super::names::Adjust;
use ::exr::meta::attribute::{AttributeValue, SampleType};
use ::exr::meta::header::Header;
use half::f16;
use half::slice::HalfFloatSliceExt;
use limpid_core::memory;
use limpid_core::memory::zeroed;
use limpid_core::{Error, Image, Kind, Layer, Result, Size};
use rayon::prelude::*;
use std::path::Path;

/// The attribute that stores [`limpid_core::Frame::sample_spacing`]: which pixels hold a colour sample.
pub(super) const EVERY: &str = "limpid.every";

/// Depth above this value means that a ray hit nothing: Cycles writes 1e10, other renderers larger values.
const ESCAPED: f32 = 1e10;

/// The content of a file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) parts: Vec<PartSource>,
    pub(super) notes: Vec<String>,
}

/// One part of a file, with the samples of its channels in order.
#[derive(Debug)]
pub(super) struct PartSource {
    pub(super) header: Header,
    pub(super) samples: Vec<Samples>,
}

/// The samples of one channel, rows from top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Samples {
    F16(Vec<f16>),
    F32(Vec<f32>),
    U32(Vec<u32>),
}

impl Samples {
    fn zeros(kind: SampleType, count: usize) -> Result<Self> {
        Ok(match kind {
            SampleType::F16 => Self::F16(zeroed(count)?),
            SampleType::F32 => Self::F32(zeroed(count)?),
            SampleType::U32 => Self::U32(zeroed(count)?),
        })
    }

    fn to_f32(&self, out: &mut [f32]) {
        match self {
            Self::F16(v) => v.convert_to_f32_slice(out),
            Self::F32(v) => out.copy_from_slice(v),
            Self::U32(v) => out.iter_mut().zip(v).for_each(|(o, v)| *o = *v as f32),
        }
    }

    fn from_f32(values: &[f32], kind: SampleType) -> Self {
        match kind {
            SampleType::F16 => {
                let mut half = memory::zeros::<f16>(values.len());
                half.convert_from_f32_slice(values);
                // Values beyond the range of half floats are clamped: infinity would count as a missing sample.
                for (h, v) in half.iter_mut().zip(values) {
                    if h.is_infinite() && v.is_finite() {
                        *h = if *v > 0.0 { f16::MAX } else { f16::MIN };
                    }
                }
                Self::F16(half)
            }
            SampleType::F32 => Self::F32(memory::copied(values)),
            SampleType::U32 => Self::U32(values.iter().map(|v| v.round() as u32).collect()),
        }
    }

    /// Keeps the old samples whose values did not change, as given by `same`.
    fn keep(&mut self, old: &Self, same: &[bool]) {
        fn keep<T: Copy>(new: &mut [T], old: &[T], same: &[bool]) {
            for ((new, old), _) in new.iter_mut().zip(old).zip(same).filter(|(_, s)| **s) {
                *new = *old;
            }
        }
        match (self, old) {
            (Self::F16(new), Self::F16(old)) => keep(new, old, same),
            (Self::F32(new), Self::F32(old)) => keep(new, old, same),
            (Self::U32(new), Self::U32(old)) => keep(new, old, same),
            _ => {}
        }
    }
}

pub(super) fn type_name(kind: SampleType) -> &'static str {
    match kind {
        SampleType::F16 => "half",
        SampleType::F32 => "float",
        SampleType::U32 => "uint",
    }
}

pub(super) fn size_of(header: &Header) -> Size {
    Size::new(header.layer_size.0, header.layer_size.1)
}

/// Channel and part names are UTF-8 in practice, Latin-1 in old files.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
    }
}

impl Source {
    /// The text attribute of this name, of the first part that has it.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = |part: &PartSource| {
            let own = &part.header.own_attributes.other;
            match own.iter().find(|(key, _)| text(key.as_slice()) == name)?.1 {
                AttributeValue::Text(value) => Some(text(value.as_slice())),
                _ => None,
            }
        };
        self.parts.iter().find_map(value)
    }

    /// The image of a layer, in the frame's convention.
    pub(super) fn image(&self, mapped: &Mapped) -> Result<Image> {
        let size = size_of(&self.parts[mapped.part].header);
        let mut image = Image::try_new(size.width, size.height, mapped.channels.len())?;
        let count = size.pixels();
        image
            .data_mut()
            .par_chunks_mut(count)
            .zip(&mapped.channels)
            .enumerate()
            .for_each(|(i, (plane, &channel))| {
                self.parts[mapped.part].samples[channel].to_f32(plane);
                self.adjust(mapped, i, plane);
            });
        Ok(image)
    }

    /// Converts file values to layer values.
    fn adjust(&self, mapped: &Mapped, channel: usize, plane: &mut [f32]) {
        if mapped.layer.kind == Kind::Depth && mapped.layer.part == limpid_core::Part::Mean {
            plane
                .iter_mut()
                .filter(|v| **v >= ESCAPED)
                .for_each(|v| *v = f32::INFINITY);
        }
        if mapped.adjust == Adjust::FlipY && channel == 1 {
            plane.iter_mut().for_each(|v| *v = -*v);
        }
        match mapped.divide {
            Divide::No => {}
            Divide::By(n) => plane.iter_mut().for_each(|v| *v /= n),
            Divide::ByChannel(count) => {
                let mut n = vec![0.0; plane.len()];
                self.parts[mapped.part].samples[count].to_f32(&mut n);
                let pairs = plane.iter_mut().zip(&n);
                pairs.for_each(|(v, n)| *v /= n.max(1.0));
            }
        }
    }

    /// Converts layer values to file values; unchanged values keep their bits.
    pub(super) fn encode(&self, mapped: &Mapped, channel: usize, plane: &[f32]) -> Samples {
        let old = &self.parts[mapped.part].samples[mapped.channels[channel]];
        let mut before = memory::zeros(plane.len());
        old.to_f32(&mut before);
        self.adjust(mapped, channel, &mut before);
        let same: Vec<bool> = before
            .iter()
            .zip(plane)
            .map(|(a, b)| a.to_bits() == b.to_bits())
            .collect();
        let mut values = memory::copied(plane);
        if mapped.adjust == Adjust::FlipY && channel == 1 {
            values.iter_mut().for_each(|v| *v = -*v);
        }
        match mapped.divide {
            Divide::No => {}
            Divide::By(n) => values.iter_mut().for_each(|v| *v *= n),
            Divide::ByChannel(count) => {
                let mut n = vec![0.0; values.len()];
                self.parts[mapped.part].samples[count].to_f32(&mut n);
                let pairs = values.iter_mut().zip(&n);
                pairs.for_each(|(v, n)| *v *= n.max(1.0));
            }
        }
        let kind = match old {
            Samples::F16(_) => SampleType::F16,
            Samples::F32(_) => SampleType::F32,
            Samples::U32(_) => SampleType::U32,
        };
        let mut new = Samples::from_f32(&values, kind);
        new.keep(old, &same);
        new
    }
}

/// An error of the `exr` crate, about a file.
pub(super) fn fault(path: &Path, error: ::exr::error::Error) -> Error {
    use ::exr::error::Error as Exr;
    let path_text = path.display();
    match error {
        Exr::Io(source) => Error::io(path, source),
        Exr::NotSupported(what) => Error::unsupported(format!("{path_text}: OpenEXR: {what}")),
        Exr::Invalid(what) if what.contains("missing bytes") => Error::damaged(format!(
            "{path_text}: the file ends in its header; it is truncated"
        )),
        Exr::Invalid(what) => Error::damaged(format!("{path_text}: corrupt OpenEXR file: {what}")),
        Exr::Aborted => Error::Stopped,
    }
}

/// The mapped layers as images.
pub(super) fn images(source: &Source, layers: &[Mapped]) -> Result<Vec<(Layer, Image)>> {
    layers
        .iter()
        .map(|m| Ok((m.layer.clone(), source.image(m)?)))
        .collect()
}
