//! Samples as whole numbers, channel by channel, and the order of channels in a code-stream.

use super::Damage;
use super::stream::{Component, Stream};
use super::wavelet::{Plane, Pool, Whole};
use ::exr::meta::attribute::{IntegerBounds, SampleType};
use ::exr::meta::header::Header;
use limpid_core::simd::{best, dispatch};
use rayon::prelude::*;

/// A channel in a block of pixels.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) kind: SampleType,
    pub(super) step: (usize, usize),
    pub(super) width: usize,
    pub(super) height: usize,
    /// The lines that it has samples in, counted in the block.
    first_line: usize,
}

impl Channel {
    pub(super) fn bits(&self) -> u32 {
        match self.kind {
            SampleType::F16 => 16,
            _ => 32,
        }
    }

    #[cfg(test)]
    pub(super) fn whole(name: &str, kind: SampleType, width: usize, height: usize) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            step: (1, 1),
            width,
            height,
            first_line: 0,
        }
    }

    /// Where its samples are in a line of the block, if the line has any.
    fn row(&self, line: usize) -> Option<usize> {
        let below = line.checked_sub(self.first_line)?;
        (below % self.step.1 == 0).then(|| below / self.step.1)
    }
}

/// The channels in a block of pixels.
pub(super) fn channels(header: &Header, bounds: &IntegerBounds) -> Vec<Channel> {
    let corner = header.own_attributes.layer_position;
    let list = header.channels.list.iter();
    list.map(|channel| {
        let (first_line, height) = super::super::blocks::sampled(
            (corner.1, bounds.position.1, bounds.size.1),
            channel.sampling.1,
        );
        let (_, width) = super::super::blocks::sampled(
            (corner.0, bounds.position.0, bounds.size.0),
            channel.sampling.0,
        );
        Channel {
            name: super::super::text(channel.name.as_slice()),
            kind: channel.sample_type,
            step: (channel.sampling.0, channel.sampling.1),
            width,
            height,
            first_line,
        }
    })
    .collect()
}

/// The samples of a component: of 16 bits, or of 32, which grow beyond 32.
#[derive(Debug)]
pub(super) enum Planes {
    Small(Plane<i32>),
    Large(Plane<i64>),
}

/// The channel of each component: red, green and blue first, if they are there and alike.
pub(super) fn order(channels: &[Channel]) -> (Vec<usize>, bool) {
    for names in [["r", "g", "b"], ["red", "green", "blue"]] {
        let split = |i: usize| {
            let name = &channels[i].name;
            name.rsplit_once('.').unwrap_or(("", name))
        };
        // The first channel with one of the names says in which layer the others are.
        let named = |i: &usize| names.iter().any(|n| split(*i).1.eq_ignore_ascii_case(n));
        let Some(layer) = (0..channels.len()).find(named).map(|i| split(i).0) else {
            continue;
        };
        let find = |name: &str| {
            (0..channels.len()).find(|&i| {
                let (before, last) = split(i);
                before == layer && last.eq_ignore_ascii_case(name)
            })
        };
        let [Some(r), Some(g), Some(b)] = names.map(find) else {
            continue;
        };
        let like = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|i| &channels[i]);
            a.kind == b.kind && a.step == b.step
        };
        if like(r, g) && like(r, b) {
            let others = (0..channels.len()).filter(|i| ![r, g, b].contains(i));
            let order = [r, g, b].into_iter().chain(others).collect();
            // With coarser channels, components are stored one by one.
            let even = channels.iter().all(|c| c.step == (1, 1));
            return (order, even);
        }
    }
    ((0..channels.len()).collect(), false)
}

/// The components of a code-stream for these channels.
pub(super) fn components(channels: &[Channel], order: &[usize]) -> Vec<Component> {
    let component = |&channel: &usize| {
        let channel = &channels[channel];
        let float = channel.kind != SampleType::U32;
        Component {
            step: channel.step,
            bits: channel.bits(),
            signed: float,
            complement: float,
            planes: Vec::new(),
        }
    };
    order.iter().map(component).collect()
}

/// How samples become whole numbers, and back by the same: sign and magnitude of floating-point samples become a two's complement, which
/// keeps their order, and the highest bit of others becomes a sign.
#[derive(Clone, Copy)]
struct Turn<T> {
    highest: T,
    others: T,
}

macro_rules! turn {
    ($t:ty) => {
        impl Turn<$t> {
            fn of(component: &Component) -> Self {
                let given = |there: bool, bits: $t| if there { bits } else { 0 };
                Self {
                    highest: given(!component.signed, <$t>::MIN),
                    others: given(component.signed && component.complement, <$t>::MAX),
                }
            }

            #[inline(always)]
            fn turn(self, value: $t) -> $t {
                let value = value ^ self.highest;
                value ^ (value >> (<$t>::BITS - 1) & self.others)
            }
        }
    };
}

turn!(i16);
turn!(i32);

/// The numbers of all components.
pub(super) fn numbers(
    raw: &[u8],
    channels: &[Channel],
    order: &[usize],
    bounds: &IntegerBounds,
    pool: &Pool,
) -> Vec<Planes> {
    let components = components(channels, order);
    let places = places(channels, bounds);
    let pairs = order.par_iter().zip(&components);
    pairs
        .map(|(&channel, component)| {
            let (c, rows) = (&channels[channel], &places[channel]);
            match c.kind {
                SampleType::F16 => {
                    let turn = Turn::<i16>::of(component);
                    let mut plane = Plane::<i32>::new(c.width, c.height, i32::spare(pool));
                    let lines = plane.data.chunks_mut(c.width.max(1));
                    for (line, at) in lines.zip(rows) {
                        let (words, _) = raw[*at..][..2 * c.width].as_chunks::<2>();
                        for (v, word) in line.iter_mut().zip(words) {
                            *v = turn.turn(i16::from_ne_bytes(*word)).into();
                        }
                    }
                    Planes::Small(plane)
                }
                SampleType::F32 | SampleType::U32 => {
                    let turn = Turn::<i32>::of(component);
                    let mut plane = Plane::<i64>::new(c.width, c.height, i64::spare(pool));
                    let lines = plane.data.chunks_mut(c.width.max(1));
                    for (line, at) in lines.zip(rows) {
                        let (words, _) = raw[*at..][..4 * c.width].as_chunks::<4>();
                        for (v, word) in line.iter_mut().zip(words) {
                            *v = turn.turn(i32::from_ne_bytes(*word)).into();
                        }
                    }
                    Planes::Large(plane)
                }
            }
        })
        .collect()
}

/// Where the rows of each channel begin in a block of pixels.
fn places(channels: &[Channel], bounds: &IntegerBounds) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); channels.len()];
    let mut at = 0;
    for line in 0..bounds.size.1 {
        for (channel, places) in channels.iter().zip(&mut places) {
            if channel.row(line).is_some() {
                places.push(at);
                at += channel.width * channel.kind.bytes_per_sample();
            }
        }
    }
    places
}

/// The samples of a block of pixels, line by line, and the inverse of the colour transform before them.
pub(super) fn samples(
    planes: &mut [Planes],
    stream: &Stream,
    channels: &[Channel],
    order: &[usize],
    bounds: &IntegerBounds,
    raw: Vec<u8>,
) -> Result<Vec<u8>, Damage> {
    if stream.color {
        match planes {
            [Planes::Small(a), Planes::Small(b), Planes::Small(c), ..] => alike([a, b, c])?,
            [Planes::Large(a), Planes::Large(b), Planes::Large(c), ..] => alike([a, b, c])?,
            _ => return Err(Damage),
        }
    }
    let places = places(channels, bounds);
    Ok(dispatch!(best(), _simd => lines(planes, stream, (channels, order), &places, raw)))
}

#[inline(always)]
fn lines(
    planes: &mut [Planes],
    stream: &Stream,
    (channels, order): (&[Channel], &[usize]),
    places: &[Vec<usize>],
    mut raw: Vec<u8>,
) -> Vec<u8> {
    let most = channels.iter().map(|c| c.height).max().unwrap_or(0);
    for row in 0..most {
        if stream.color {
            match planes {
                [Planes::Small(a), Planes::Small(b), Planes::Small(c), ..] => {
                    transform([a, b, c].map(|p| p.row(row)), i32::recorrelate);
                }
                [Planes::Large(a), Planes::Large(b), Planes::Large(c), ..] => {
                    transform([a, b, c].map(|p| p.row(row)), i64::recorrelate);
                }
                _ => {}
            }
        }
        for ((plane, component), &channel) in planes.iter_mut().zip(&stream.components).zip(order) {
            let Some(&at) = places[channel].get(row) else {
                continue;
            };
            let width = channels[channel].width;
            match plane {
                Planes::Small(plane) => {
                    let turn = Turn::<i16>::of(component);
                    let (words, _) = raw[at..at + 2 * width].as_chunks_mut::<2>();
                    for (word, v) in words.iter_mut().zip(plane.row(row)) {
                        *word = turn.turn(*v as i16).to_ne_bytes();
                    }
                }
                Planes::Large(plane) => {
                    let turn = Turn::<i32>::of(component);
                    let (words, _) = raw[at..at + 4 * width].as_chunks_mut::<4>();
                    for (word, v) in words.iter_mut().zip(plane.row(row)) {
                        *word = turn.turn(*v as i32).to_ne_bytes();
                    }
                }
            }
        }
    }
    raw
}

impl Planes {
    /// Gives the memory back.
    pub(super) fn give(self, pool: &Pool) {
        match self {
            Self::Small(plane) => i32::spare(pool).give(plane.data),
            Self::Large(plane) => i64::spare(pool).give(plane.data),
        }
    }
}

/// The colour transform of the first three components.
pub(super) fn decorrelate(planes: &mut [Planes]) {
    if let [Planes::Small(a), Planes::Small(b), Planes::Small(c), ..] = planes {
        let all = [a, b, c].map(|p| &mut p.data[..p.width * p.height]);
        dispatch!(best(), _simd => transform(all, i32::decorrelate));
    } else if let [Planes::Large(a), Planes::Large(b), Planes::Large(c), ..] = planes {
        let all = [a, b, c].map(|p| &mut p.data[..p.width * p.height]);
        dispatch!(best(), _simd => transform(all, i64::decorrelate));
    }
}

fn alike<T>([a, b, c]: [&Plane<T>; 3]) -> Result<(), Damage> {
    let size = |p: &Plane<T>| (p.width, p.height);
    match size(a) == size(b) && size(a) == size(c) {
        true => Ok(()),
        false => Err(Damage),
    }
}

#[inline(always)]
fn transform<T: Whole>([a, b, c]: [&mut [T]; 3], step: impl Fn([T; 3]) -> [T; 3]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        [*a, *b, *c] = step([*a, *b, *c]);
    }
}
