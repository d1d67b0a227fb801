//! The header of a code-stream: sizes, components, and how the coefficients are cut into blocks and packets (ITU-T T.800, annex A).

use super::{Damage, Fault};
use std::borrow::Cow;

const SOC: u16 = 0xff4f;
const CAP: u16 = 0xff50;
const SIZ: u16 = 0xff51;
const COD: u16 = 0xff52;
const COC: u16 = 0xff53;
const QCD: u16 = 0xff5c;
const QCC: u16 = 0xff5d;
const RGN: u16 = 0xff5e;
const POC: u16 = 0xff5f;
const PPM: u16 = 0xff60;
const PPT: u16 = 0xff61;
const NLT: u16 = 0xff76;
const SOT: u16 = 0xff90;
const SOD: u16 = 0xff93;
const EOC: u16 = 0xffd9;

/// More bit planes than any sample of 32 bits needs.
const MOST_PLANES: u32 = 48;

/// The header of a code-stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) components: Vec<Component>,
    /// Whether the first three components are red, green and blue, transformed.
    pub(super) color: bool,
    /// Levels of the wavelet transform.
    pub(super) levels: usize,
    /// Logarithms of width and height of code-blocks.
    pub(super) block: (u32, u32),
    /// The same of precincts, for each resolution.
    pub(super) precincts: Vec<(u32, u32)>,
    /// The order of packets, as the format counts it.
    pub(super) order: u8,
    /// Whether markers may stand before and after the headers of packets.
    pub(super) marked: bool,
}

/// A component: one channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Component {
    /// Its pixels are so many apart, horizontally and vertically.
    pub(super) step: (usize, usize),
    pub(super) bits: u32,
    pub(super) signed: bool,
    /// Whether negative numbers are stored as sign and magnitude, as in floating-point samples.
    pub(super) complement: bool,
    /// Bit planes of each sub-band, from the coarsest.
    pub(super) planes: Vec<u32>,
}

/// Bytes that are read from the front.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(Damage)?;
        self.0 = rest;
        Ok(front)
    }

    fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, Damage> {
        Ok(self.take(2)?.iter().fold(0, |v, b| v << 8 | u16::from(*b)))
    }

    fn u32(&mut self) -> Result<u32, Damage> {
        Ok(self.take(4)?.iter().fold(0, |v, b| v << 8 | u32::from(*b)))
    }

    /// The contents of a marker segment.
    fn segment(&mut self) -> Result<Bytes<'a>, Damage> {
        let length = usize::from(self.u16()?);
        Ok(Bytes(self.take(length.checked_sub(2).ok_or(Damage)?)?))
    }
}

impl Stream {
    /// Reads a header; returns the packets, too.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, Cow<'_, [u8]>), Fault> {
        let (stream, rest) = Self::header(bytes)?;
        Ok((stream, packets(rest)?))
    }

    /// Reads a header, and returns what follows its end.
    pub(super) fn header(bytes: &[u8]) -> Result<(Self, Bytes<'_>), Fault> {
        let mut bytes = Bytes(bytes);
        let mut stream = Self::default();
        let mut quantization = None;
        let mut exceptions = Vec::new();
        let mut coded = false;
        if bytes.u16()? != SOC {
            return Err(Damage.into());
        }
        loop {
            let marker = bytes.u16()?;
            if marker == SOT {
                break;
            }
            let mut segment = bytes.segment()?;
            match marker {
                SIZ if stream.components.is_empty() => stream.sizes(&mut segment)?,
                COD if !coded => {
                    stream.coding(&mut segment)?;
                    coded = true;
                }
                QCD => quantization = Some(planes(&mut segment)?),
                QCC => {
                    let component = stream.index(&mut segment)?;
                    exceptions.push((component, planes(&mut segment)?));
                }
                NLT => stream.point_transform(&mut segment)?,
                COC | POC | PPM | RGN => {
                    return Err(Fault::Unsupported(
                        "a part of JPEG 2000 that OpenEXR does not use",
                    ));
                }
                SIZ | COD | SOC | SOD | EOC => return Err(Damage.into()),
                _ => {}
            }
        }
        if !coded || stream.components.is_empty() {
            return Err(Damage.into());
        }
        for component in &mut stream.components {
            component.planes = quantization.clone().ok_or(Damage)?;
        }
        for (index, planes) in exceptions {
            stream.components.get_mut(index).ok_or(Damage)?.planes = planes;
        }
        let bands = 3 * stream.levels + 1;
        if stream.components.iter().any(|c| c.planes.len() < bands) {
            return Err(Damage.into());
        }
        Ok((stream, bytes))
    }

    fn sizes(&mut self, segment: &mut Bytes<'_>) -> Result<(), Fault> {
        segment.u16()?;
        let mut sizes = [0_u32; 8];
        for size in &mut sizes {
            *size = segment.u32()?;
        }
        let [width, height, x, y, tile_width, tile_height, tile_x, tile_y] = sizes;
        if [x, y, tile_x, tile_y] != [0; 4] || tile_width < width || tile_height < height {
            return Err(Fault::Unsupported("tiles inside a block of pixels"));
        }
        (self.width, self.height) = (width as usize, height as usize);
        for _ in 0..segment.u16()? {
            let depth = segment.u8()?;
            let step = (segment.u8()?.into(), segment.u8()?.into());
            if step.0 == 0 || step.1 == 0 {
                return Err(Damage.into());
            }
            self.components.push(Component {
                step,
                bits: u32::from(depth & 0x7f) + 1,
                signed: depth & 0x80 != 0,
                ..Component::default()
            });
        }
        Ok(())
    }

    fn coding(&mut self, segment: &mut Bytes<'_>) -> Result<(), Fault> {
        let flags = segment.u8()?;
        self.marked = flags & 6 != 0;
        self.order = segment.u8()?;
        let layers = segment.u16()?;
        self.color = segment.u8()? == 1;
        self.levels = segment.u8()?.into();
        self.block = (u32::from(segment.u8()?) + 2, u32::from(segment.u8()?) + 2);
        let style = segment.u8()?;
        let reversible = segment.u8()? == 1;
        if self.levels > 32 || self.order > 4 || self.block.0 + self.block.1 > 12 {
            return Err(Damage.into());
        }
        if layers != 1 || style & !8 != 0x40 || !reversible {
            return Err(Fault::Unsupported(
                "a kind of JPEG 2000 that is not high-throughput and lossless",
            ));
        }
        for _ in 0..=self.levels {
            let size = if flags & 1 == 1 { segment.u8()? } else { 0xff };
            let size = (u32::from(size & 15), u32::from(size >> 4));
            if size.0 < 6 || size.1 < 6 {
                return Err(Fault::Unsupported("precincts of fewer than 64 pixels"));
            }
            self.precincts.push(size);
        }
        Ok(())
    }

    /// The index of a component.
    fn index(&self, segment: &mut Bytes<'_>) -> Result<usize, Damage> {
        Ok(match self.components.len() {
            ..257 => segment.u8()?.into(),
            _ => segment.u16()?.into(),
        })
    }

    fn point_transform(&mut self, segment: &mut Bytes<'_>) -> Result<(), Fault> {
        let which = usize::from(segment.u16()?);
        segment.u8()?;
        let complement = match segment.u8()? {
            0 => false,
            3 => true,
            _ => return Err(Fault::Unsupported("a point transform")),
        };
        for (i, component) in self.components.iter_mut().enumerate() {
            if which == i || which == 0xffff {
                component.complement = complement;
            }
        }
        Ok(())
    }

    /// Appends the header and what `packets` appends.
    pub(super) fn write(&self, out: &mut Vec<u8>, packets: impl FnOnce(&mut Vec<u8>)) {
        out.extend(SOC.to_be_bytes());
        let mut segment = |marker: u16, body: &[u8]| {
            out.extend(marker.to_be_bytes());
            out.extend((body.len() as u16 + 2).to_be_bytes());
            out.extend(body);
        };
        let complements = self.components.iter().any(|c| c.complement);
        let mut sizes = if complements { [0xc2, 0] } else { [0x40, 0] }.to_vec();
        for size in [self.width, self.height, 0, 0, self.width, self.height, 0, 0] {
            sizes.extend((size as u32).to_be_bytes());
        }
        sizes.extend((self.components.len() as u16).to_be_bytes());
        for c in &self.components {
            let depth = (c.bits - 1) as u8 | u8::from(c.signed) << 7;
            sizes.extend([depth, c.step.0 as u8, c.step.1 as u8]);
        }
        segment(SIZ, &sizes);
        // Part 15, and the number of bit planes in its coarse scale.
        let all = self.components.iter().flat_map(|c| &c.planes);
        let most = all.copied().max().unwrap_or(8);
        let magnitude = match most {
            ..=8 => 0,
            9..=27 => most - 8,
            _ => 19 + (most - 27).div_ceil(4),
        };
        segment(CAP, &[0, 2, 0, 0, 0, magnitude as u8]);
        let (width, height) = (self.block.0 as u8 - 2, self.block.1 as u8 - 2);
        let color = self.color.into();
        segment(
            COD,
            &[
                0,
                self.order,
                0,
                1,
                color,
                self.levels as u8,
                width,
                height,
                0x40,
                1,
            ],
        );
        segment(QCD, &exponents(&self.components[0].planes));
        for (i, component) in self.components.iter().enumerate() {
            if component.planes != self.components[0].planes {
                let index = (i as u16).to_be_bytes();
                let mut body = index[usize::from(self.components.len() < 257)..].to_vec();
                body.extend(exponents(&component.planes));
                segment(QCC, &body);
            }
            if component.complement {
                let [high, low] = (i as u16).to_be_bytes();
                segment(NLT, &[high, low, (component.bits - 1) as u8 | 0x80, 3]);
            }
        }
        // The length comes when the packets are there; it counts from this marker.
        segment(SOT, &[0, 0, 0, 0, 0, 0, 0, 1]);
        let begin = out.len() - 12;
        out.extend(SOD.to_be_bytes());
        packets(out);
        let length = (out.len() - begin) as u32;
        out[begin + 6..begin + 10].copy_from_slice(&length.to_be_bytes());
        out.extend(EOC.to_be_bytes());
    }
}

/// Bit planes of sub-bands, from a segment without quantization.
fn planes(segment: &mut Bytes<'_>) -> Result<Vec<u32>, Fault> {
    let style = segment.u8()?;
    if style & 31 != 0 {
        return Err(Fault::Unsupported("quantization"));
    }
    let guard = u32::from(style >> 5);
    let planes = segment
        .0
        .iter()
        .map(|b| (u32::from(b >> 3) + guard).saturating_sub(1));
    let planes: Vec<u32> = planes.collect();
    if planes.iter().any(|p| *p > MOST_PLANES) {
        return Err(Damage.into());
    }
    Ok(planes)
}

/// The segment for bit planes; exponents have five bits.
fn exponents(planes: &[u32]) -> Vec<u8> {
    let most = planes.iter().copied().max().unwrap_or(1);
    let guard = most.saturating_sub(30).max(1);
    let mut body = vec![(guard << 5) as u8];
    body.extend(planes.iter().map(|p| ((p + 1 - guard) << 3) as u8));
    body
}

/// The packets of all parts of the tile, after the first marker SOT.
fn packets(mut bytes: Bytes<'_>) -> Result<Cow<'_, [u8]>, Fault> {
    let mut all: Cow<'_, [u8]> = Cow::default();
    loop {
        let mut part = Bytes(bytes.0);
        let mut segment = part.segment()?;
        let tile = segment.u16()?;
        let length = segment.u32()? as usize;
        if tile != 0 {
            return Err(Damage.into());
        }
        // The length counts from the marker, which has been read.
        let whole = match length {
            0 => bytes.0.len().saturating_sub(2),
            _ => length.checked_sub(2).ok_or(Damage)?,
        };
        let header = bytes.0.len() - part.0.len();
        let body = whole.checked_sub(header).ok_or(Damage)?;
        bytes.take(whole)?;
        let mut part = Bytes(part.0.get(..body).ok_or(Damage)?);
        loop {
            match part.u16()? {
                SOD => break,
                COD | COC | QCD | QCC | RGN | POC | PPT | NLT => {
                    return Err(Fault::Unsupported(
                        "settings that change inside a code-stream",
                    ));
                }
                _ => part.segment()?,
            };
        }
        if all.is_empty() {
            all = Cow::Borrowed(part.0);
        } else {
            all.to_mut().extend_from_slice(part.0);
        }
        match bytes.u16()? {
            EOC => return Ok(all),
            SOT => {}
            _ => return Err(Damage.into()),
        }
    }
}
