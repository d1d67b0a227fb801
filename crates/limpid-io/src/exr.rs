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
        self.part(0, out);
    }

    /// Values from one on, as many as there is room for.
    fn part(&self, begin: usize, out: &mut [f32]) {
        let range = begin..begin + out.len();
        match self {
            Self::F16(v) => v[range].convert_to_f32_slice(out),
            Self::F32(v) => out.copy_from_slice(&v[range]),
            Self::U32(v) => {
                let pairs = out.iter_mut().zip(&v[range]);
                pairs.for_each(|(o, v)| *o = *v as f32);
            }
        }
    }

    fn from_f32(values: &[f32], kind: SampleType) -> Self {
        let mut all = match kind {
            SampleType::F16 => Self::F16(memory::zeros(values.len())),
            SampleType::F32 => return Self::F32(memory::copied(values)),
            SampleType::U32 => Self::U32(memory::zeros(values.len())),
        };
        all.set(0, values);
        all
    }

    /// Sets values from one on.
    fn set(&mut self, begin: usize, values: &[f32]) {
        let range = begin..begin + values.len();
        match self {
            Self::F16(all) => {
                let half = &mut all[range];
                half.convert_from_f32_slice(values);
                // Values beyond the range of half floats are clamped: infinity would count as a missing sample.
                for (h, v) in half.iter_mut().zip(values) {
                    let most = if *v > 0.0 { f16::MAX } else { f16::MIN };
                    let beyond = h.is_infinite() && v.is_finite();
                    *h = if beyond { most } else { *h };
                }
            }
            Self::F32(all) => all[range].copy_from_slice(values),
            Self::U32(all) => {
                let pairs = all[range].iter_mut().zip(values);
                pairs.for_each(|(to, v)| *to = v.round() as u32);
            }
        }
    }

    /// Takes the old samples, from one on, whose values did not change.
    fn keep(&mut self, old: &Self, begin: usize, [before, now]: [&[f32]; 2]) {
        fn keep<T: Copy>(new: &mut [T], old: &[T], [before, now]: [&[f32]; 2]) {
            let values = before.iter().zip(now);
            for ((new, old), (before, now)) in new.iter_mut().zip(old).zip(values) {
                *new = if before.to_bits() == now.to_bits() {
                    *old
                } else {
                    *new
                };
            }
        }
        match (self, old) {
            (Self::F16(new), Self::F16(old)) => {
                keep(&mut new[begin..], &old[begin..], [before, now]);
            }
            (Self::F32(new), Self::F32(old)) => {
                keep(&mut new[begin..], &old[begin..], [before, now]);
            }
            (Self::U32(new), Self::U32(old)) => {
                keep(&mut new[begin..], &old[begin..], [before, now]);
            }
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
                self.adjust(mapped, i, 0, plane);
            });
        Ok(image)
    }

    /// Converts file values to layer values, from one on.
    fn adjust(&self, mapped: &Mapped, channel: usize, begin: usize, plane: &mut [f32]) {
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
                self.parts[mapped.part].samples[count].part(begin, &mut n);
                let pairs = plane.iter_mut().zip(&n);
                pairs.for_each(|(v, n)| *v /= n.max(1.0));
            }
        }
    }

    /// Converts layer values to file values; unchanged values keep their bits.
    pub(super) fn encode(&self, mapped: &Mapped, channel: usize, plane: &[f32]) -> Samples {
        let old = &self.parts[mapped.part].samples[mapped.channels[channel]];
        let mut new = match old {
            Samples::F16(_) => Samples::F16(memory::zeros(plane.len())),
            Samples::F32(_) => Samples::F32(memory::zeros(plane.len())),
            Samples::U32(_) => Samples::U32(memory::zeros(plane.len())),
        };
        // So many at a time that all of them stay in the cache.
        let (mut room, mut changed) = ([0.0; 2048], [0.0; 2048]);
        for (i, now) in plane.chunks(room.len()).enumerate() {
            let begin = i * room.len();
            let before = &mut room[..now.len()];
            old.part(begin, before);
            self.adjust(mapped, channel, begin, before);
            let values = &mut changed[..now.len()];
            values.copy_from_slice(now);
            if mapped.adjust == Adjust::FlipY && channel == 1 {
                values.iter_mut().for_each(|v| *v = -*v);
            }
            match mapped.divide {
                Divide::No => {}
                Divide::By(n) => values.iter_mut().for_each(|v| *v *= n),
                Divide::ByChannel(count) => {
                    let mut n = vec![0.0; values.len()];
                    self.parts[mapped.part].samples[count].part(begin, &mut n);
                    let pairs = values.iter_mut().zip(&n);
                    pairs.for_each(|(v, n)| *v *= n.max(1.0));
                }
            }
            new.set(begin, values);
            new.keep(old, begin, [before, now]);
        }
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
