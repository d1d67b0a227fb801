//! The samples of clips, as images and back.

use crate::api::{Frame, Map, RawFormat};
use half::f16;
use limpid::io::y4m::{Colour, Header, Matrix, Packer};
use limpid::{Error, Image, Result, Size};
use rayon::prelude::*;

/// Families of colours, as VapourSynth numbers them.
const GREY: i32 = 1;
const RGB: i32 = 2;
const YUV: i32 = 3;

/// What the planes of a clip hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Grey,
    Rgb,
    Yuv,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sample {
    Whole(u32),
    Half,
    Single,
}

/// The form of a clip, which is the same in all of its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) raw: RawFormat,
    family: Family,
    sample: Sample,
    size: Size,
    /// How many pixels share a chroma sample, along x and y.
    shared: (usize, usize),
}

/// What the properties of a frame say of its colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Colours {
    matrix: Option<Matrix>,
    full: Option<bool>,
}

impl Colours {
    /// As a frame tells; refuses frames that consist of fields.
    pub(crate) fn of(properties: Map<'_>) -> Result<Self> {
        if matches!(properties.int(c"_FieldBased"), Some(1 | 2)) {
            return Err(Error::input(
                "the frames consist of fields: separate them with std.SeparateFields, filter the even and the odd ones (std.SelectEvery), and \
                 weave them again",
            ));
        }
        let matrix = match properties.int(c"_Matrix") {
            Some(1) => Some(Matrix::Bt709),
            Some(4..=6) => Some(Matrix::Bt601),
            Some(9 | 10) => Some(Matrix::Bt2020),
            _ => None,
        };
        // The older of the two names counts the other way round.
        let full = properties.int(c"_Range").map(|range| range == 1);
        let older = properties.int(c"_ColorRange").map(|range| range == 0);
        Ok(Self {
            matrix,
            full: full.or(older),
        })
    }
}

impl Form {
    /// Refuses what is not a clip of one form.
    pub(crate) fn of(raw: RawFormat, size: Size) -> Result<Self> {
        let family = match raw.family {
            GREY => Family::Grey,
            RGB => Family::Rgb,
            YUV => Family::Yuv,
            _ => return Err(Error::unsupported("clips whose format changes")),
        };
        if size.pixels() == 0 {
            return Err(Error::unsupported("clips whose size changes"));
        }
        let sample = match (raw.kind, raw.bits) {
            (0, bits @ 8..=16) => Sample::Whole(bits as u32),
            (1, 16) => Sample::Half,
            (1, 32) => Sample::Single,
            _ => {
                return Err(Error::unsupported(format!(
                    "samples of {} bits; known are 8 to 16 bits, and floats of 16 and 32",
                    raw.bits
                )));
            }
        };
        let shared = (1 << raw.across, 1 << raw.down);
        if !matches!(shared, (1, 1) | (2, 1) | (2, 2) | (4, 1)) {
            return Err(Error::unsupported(
                "this chroma sampling; known are 4:4:4, 4:2:2, 4:2:0 and 4:1:1",
            ));
        }
        Ok(Self {
            raw,
            family,
            sample,
            size,
            shared,
        })
    }

    fn bytes(&self) -> usize {
        match self.sample {
            Sample::Whole(8) => 1,
            Sample::Whole(_) | Sample::Half => 2,
            Sample::Single => 4,
        }
    }

    /// How these frames would be stored in a film.
    fn header(&self, bits: u32, colours: Colours) -> Result<Header> {
        let sampling = match (self.family, self.shared) {
            (Family::Grey, _) => "mono",
            (_, (1, 1)) => "444",
            (_, (2, 1)) => "422",
            (_, (2, 2)) => "420",
            _ => "411",
        };
        let form = match (bits, self.family) {
            (8, _) => sampling.to_owned(),
            (bits, Family::Grey) => format!("mono{bits}"),
            (bits, _) => format!("{sampling}p{bits}"),
        };
        let mut header = Header::new(self.size, &form, (25, 1))?;
        header.full_range = colours.full.unwrap_or(false);
        match colours.matrix {
            Some(matrix) => Ok(header.with_matrix(matrix)),
            None => Ok(header),
        }
    }

    /// The pixels of a frame: grey, or red, green and blue.
    pub(crate) fn image(&self, frame: &Frame, colours: Colours) -> Result<Image> {
        if let (Sample::Whole(bits), Family::Grey | Family::Yuv) = (self.sample, self.family) {
            let mut bytes = Vec::new();
            for plane in 0..self.planes() {
                for y in 0..frame.size(plane).1 {
                    bytes.extend_from_slice(frame.row(plane, y, self.bytes()));
                }
            }
            let packer = Packer::new(self.header(bits, colours)?, Colour::Encoded);
            return packer.unpack(&bytes);
        }
        let Size { width, height } = self.size;
        let mut image = Image::try_new(width, height, self.planes())?;
        for plane in 0..self.planes() {
            let shared = if plane == 0 { (1, 1) } else { self.shared };
            let rows = image.plane_mut(plane).par_chunks_exact_mut(width);
            rows.enumerate().for_each(|(y, to)| {
                let from = frame.row(plane, y / shared.1, self.bytes());
                self.numbers(from, to, shared.0);
            });
        }
        if self.family == Family::Yuv {
            self.matrix(colours)?.to_rgb(&mut image);
        }
        Ok(image)
    }

    /// The planes of a frame: rows without gaps.
    pub(crate) fn planes_of(&self, image: &Image, colours: Colours) -> Result<Vec<Vec<u8>>> {
        if let (Sample::Whole(bits), Family::Grey | Family::Yuv) = (self.sample, self.family) {
            let header = self.header(bits, colours)?;
            let luma = self.bytes() * self.size.pixels();
            let mut packer = Packer::new(header, Colour::Encoded);
            let bytes = packer.pack(image)?.unwrap_or_default();
            let (luma, chroma) = bytes.split_at(luma);
            let half = (chroma.len() / 2).max(1);
            let mut planes = vec![luma.to_vec()];
            planes.extend(chroma.chunks_exact(half).map(<[u8]>::to_vec));
            return Ok(planes);
        }
        let yuv;
        let image = match self.family {
            Family::Yuv => {
                let mut made = image.clone();
                self.matrix(colours)?.rgb_to_planes(&mut made);
                yuv = made;
                &yuv
            }
            _ => image,
        };
        let plane = |c: usize| {
            let (sx, sy) = if c == 0 { (1, 1) } else { self.shared };
            let (width, height) = (self.size.width.div_ceil(sx), self.size.height.div_ceil(sy));
            let mut bytes = vec![0; width * height * self.bytes()];
            let rows = bytes.par_chunks_exact_mut(width * self.bytes());
            rows.enumerate().for_each(|(y, to)| {
                for (x, to) in to.chunks_exact_mut(self.bytes()).enumerate() {
                    let ends = (
                        (sx * (x + 1)).min(self.size.width),
                        (sy * (y + 1)).min(self.size.height),
                    );
                    let (mut sum, mut count) = (0.0, 0.0);
                    for v in sy * y..ends.1 {
                        for u in sx * x..ends.0 {
                            sum += image.get(u, v, c);
                            count += 1.0;
                        }
                    }
                    self.put(sum / count, to);
                }
            });
            bytes
        };
        Ok((0..self.planes()).map(plane).collect())
    }

    fn planes(&self) -> usize {
        if self.family == Family::Grey { 1 } else { 3 }
    }

    fn matrix(&self, colours: Colours) -> Result<Shares> {
        let (red, blue) = self.header(8, colours)?.matrix.shares();
        Ok(Shares { red, blue })
    }

    /// Maps samples to numbers, each `times` times.
    fn numbers(&self, from: &[u8], to: &mut [f32], times: usize) {
        for (i, to) in to.chunks_mut(times).enumerate() {
            let at = |k: usize| from[self.bytes() * i + k];
            let value = match self.sample {
                Sample::Whole(8) => f32::from(at(0)) / 255.0,
                Sample::Whole(bits) => {
                    f32::from(u16::from_ne_bytes([at(0), at(1)])) / ((1u32 << bits) - 1) as f32
                }
                Sample::Half => f16::from_ne_bytes([at(0), at(1)]).to_f32(),
                Sample::Single => f32::from_ne_bytes([at(0), at(1), at(2), at(3)]),
            };
            to.fill(value);
        }
    }

    fn put(&self, value: f32, to: &mut [u8]) {
        match self.sample {
            Sample::Whole(bits) => {
                let most = ((1u32 << bits) - 1) as f32;
                let code = (value * most + 0.5).clamp(0.0, most) as u16;
                match to {
                    [to] => *to = code as u8,
                    to => to.copy_from_slice(&code.to_ne_bytes()),
                }
            }
            Sample::Half => to.copy_from_slice(&f16::from_f32(value).to_ne_bytes()),
            Sample::Single => to.copy_from_slice(&value.to_ne_bytes()),
        }
    }
}

/// The shares of red and blue in luma. As floats, luma is 0 … 1 and chroma -0.5 … 0.5.
struct Shares {
    red: f32,
    blue: f32,
}

impl Shares {
    fn to_rgb(&self, image: &mut Image) {
        let green = 1.0 - self.red - self.blue;
        each(image, |[y, cb, cr]| {
            let r = y + 2.0 * (1.0 - self.red) * cr;
            let b = y + 2.0 * (1.0 - self.blue) * cb;
            [r, (y - self.red * r - self.blue * b) / green, b]
        });
    }

    fn rgb_to_planes(&self, image: &mut Image) {
        let green = 1.0 - self.red - self.blue;
        each(image, |[r, g, b]| {
            let y = self.red * r + green * g + self.blue * b;
            let cb = (b - y) / (2.0 * (1.0 - self.blue));
            [y, cb, (r - y) / (2.0 * (1.0 - self.red))]
        });
    }
}

fn each(image: &mut Image, change: impl Fn([f32; 3]) -> [f32; 3] + Sync) {
    let pixels = image.size().pixels();
    let (a, rest) = image.data_mut().split_at_mut(pixels);
    let (b, c) = rest.split_at_mut(pixels);
    let all = a.par_iter_mut().zip(b).zip(c).with_min_len(1 << 14);
    all.for_each(|((a, b), c)| [*a, *b, *c] = change([*a, *b, *c]));
}
