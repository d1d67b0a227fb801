//! Converts samples of a frame to images, and back.

use super::{Chroma, Colour, Header};
use limpid_core::simd;
use limpid_core::simd::dispatch;
use limpid_core::{Error, Image, Result, Size};
use rayon::prelude::*;

/// Minimum number of rows per thread.
const BAND: usize = 32;

/// Range of stored luma and chroma, relative to the largest sample.
struct Range {
    black: f32,
    brightness: f32,
    middle: f32,
    difference: f32,
}

impl Range {
    fn of(header: &Header) -> Self {
        let most = ((1u32 << header.bits) - 1) as f32;
        let step = (1u32 << (header.bits - 8)) as f32;
        let middle = 128.0 * step / most;
        if header.full_range {
            return Self {
                black: 0.0,
                brightness: 1.0,
                middle,
                difference: 1.0,
            };
        }
        Self {
            black: 16.0 * step / most,
            brightness: 219.0 * step / most,
            middle,
            difference: 224.0 * step / most,
        }
    }
}

/// The image of a frame, reusing the memory of another one if it fits.
pub(super) fn decode(
    header: &Header,
    colour: Colour,
    bytes: &[u8],
    memory: Option<Image>,
) -> Result<Image> {
    let Size { width, height } = header.size;
    let (small, channels) = match header.chroma_size() {
        Some(small) => (small, 3),
        None => (Size::new(0, 0), 1),
    };
    let fits = |i: &Image| (i.size(), i.channels()) == (header.size, channels);
    let mut image = match memory.filter(fits) {
        Some(image) => image,
        None => Image::try_new(width, height, channels)?,
    };
    let rows = Rows::of(header, colour);
    let level = simd::best();
    let step = if header.bits > 8 { 2 } else { 1 };
    let (luma, chroma) = bytes.split_at(step * header.size.pixels());
    let (blue, red) = chroma.split_at(step * small.pixels());
    let mut planes = image.data_mut().chunks_exact_mut(header.size.pixels());
    let mut next = || planes.next().unwrap_or_default();
    let (a, b, c) = (next(), next(), next());
    let luma = luma.par_chunks_exact(step * width);
    if channels == 1 {
        let to = a.par_chunks_exact_mut(width).zip(luma);
        to.with_min_len(BAND).for_each(|(to, luma)| {
            dispatch!(level, _simd => rows.grey(luma, to));
        });
        return Ok(image);
    }
    let planes = (a.par_chunks_exact_mut(width))
        .zip(b.par_chunks_exact_mut(width))
        .zip(c.par_chunks_exact_mut(width));
    let each = luma.zip(planes).enumerate().with_min_len(BAND);
    each.for_each_init(
        || vec![0.0; small.width],
        |half, (y, (luma, ((a, b), c)))| {
            let from = y / rows.sampled.1 * small.width;
            let from = step * from..step * (from + small.width);
            let from = [luma, &blue[from.clone()], &red[from]];
            dispatch!(level, _simd => rows.decode(from, [a, b, c], half));
        },
    );
    Ok(image)
}

/// The bytes of a frame.
pub(super) fn encode(
    header: &Header,
    colour: Colour,
    image: &Image,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let channels = if header.chroma == Chroma::Mono { 1 } else { 3 };
    if (image.size(), image.channels()) != (header.size, channels) {
        return Err(Error::mismatch(format!(
            "y4m: frames are {} with {channels} channels, not {} with {}",
            header.size,
            image.size(),
            image.channels()
        )));
    }
    let width = header.size.width;
    let small = header.chroma_size().unwrap_or(Size::new(0, 0));
    let rows = Rows::of(header, colour);
    let level = simd::best();
    bytes.clear();
    bytes.resize(header.frame_bytes(), 0);
    let step = if header.bits > 8 { 2 } else { 1 };
    let (luma, chroma) = bytes.split_at_mut(step * header.size.pixels());
    let (blue, red) = chroma.split_at_mut(step * small.pixels());
    let sy = rows.sampled.1;
    if channels == 1 {
        let each = luma.par_chunks_exact_mut(step * width).enumerate();
        let made = || vec![0.0; width];
        each.with_min_len(BAND)
            .for_each_init(made, |made, (y, to)| {
                dispatch!(level, _simd => rows.encode_grey(image.row(0, y), made, to));
            });
        return Ok(());
    }
    // The rows that share their chroma.
    let chroma = (blue.par_chunks_exact_mut(step * small.width))
        .zip(red.par_chunks_exact_mut(step * small.width));
    let each = luma
        .par_chunks_mut(step * sy * width)
        .zip(chroma)
        .enumerate();
    let scratch = || (vec![0.0; width], vec![0.0; 2 * width]);
    each.with_min_len(BAND / sy).for_each_init(
        scratch,
        |(made, sums), (row, (luma, (blue, red)))| {
            sums.fill(0.0);
            let lines = luma.chunks_exact_mut(step * width);
            let count = lines.len() as f32;
            for (i, to) in lines.enumerate() {
                let from = [0, 1, 2].map(|c| image.row(c, sy * row + i));
                dispatch!(level, _simd => rows.encode(from, made, to, sums));
            }
            dispatch!(level, _simd => rows.gather(sums, count, made, [blue, red]));
        },
    );
    Ok(())
}

/// Conversion between rows of samples and of pixels: each channel is a weighted sum of three samples plus an offset.
struct Rows {
    most: f32,
    wide: bool,
    sampled: (usize, usize),
    into: [[f32; 4]; 3],
    back: [[f32; 4]; 3],
}

impl Rows {
    fn of(header: &Header, colour: Colour) -> Self {
        let most = ((1u32 << header.bits) - 1) as f32;
        let range = Range::of(header);
        let (red, blue) = header.matrix.shares();
        let green = 1.0 - red - blue;
        let (mut into, mut back) = ([[0.0; 4]; 3], [[0.0; 4]; 3]);
        if colour == Colour::Encoded {
            let bright = 1.0 / range.brightness;
            let b = 2.0 * (1.0 - blue) / range.difference;
            let r = 2.0 * (1.0 - red) / range.difference;
            let weights = [
                [bright, 0.0, r],
                [bright, -blue * b / green, -red * r / green],
                [bright, b, 0.0],
            ];
            let luma = [red, green, blue];
            for c in 0..3 {
                let [y, cb, cr] = weights[c];
                into[c] = [y, cb, cr, -y * range.black - (cb + cr) * range.middle];
                let share = luma[c];
                let own = |d: usize| if c == d { 1.0 } else { 0.0 };
                back[0][c] = share * range.brightness;
                back[1][c] = (own(2) - share) / (2.0 * (1.0 - blue)) * range.difference;
                back[2][c] = (own(0) - share) / (2.0 * (1.0 - red)) * range.difference;
            }
            back[0][3] = range.black;
            (back[1][3], back[2][3]) = (range.middle, range.middle);
        } else {
            for c in 0..3 {
                (into[c][c], back[c][c]) = (1.0, 1.0);
            }
        }
        let sampled = match header.chroma {
            Chroma::Mono => (1, 1),
            Chroma::Sampled(x, y) => (x, y),
        };
        Self {
            most,
            wide: header.bits > 8,
            sampled,
            into,
            back,
        }
    }

    /// Maps samples to 0 … 1.
    #[inline(always)]
    fn samples(&self, from: &[u8], to: &mut [f32]) {
        let scale = 1.0 / self.most;
        if self.wide {
            for (to, from) in to.iter_mut().zip(from.chunks_exact(2)) {
                *to = f32::from(u16::from_le_bytes([from[0], from[1]])) * scale;
            }
        } else {
            for (to, from) in to.iter_mut().zip(from) {
                *to = f32::from(*from) * scale;
            }
        }
    }

    /// Rounds to samples.
    #[inline(always)]
    fn rounded(&self, from: &[f32], to: &mut [u8]) {
        let most = self.most;
        if self.wide {
            for (from, to) in from.iter().zip(to.chunks_exact_mut(2)) {
                let code = (from * most + 0.5).clamp(0.0, most) as u16;
                [to[0], to[1]] = code.to_le_bytes();
            }
        } else {
            for (from, to) in from.iter().zip(to) {
                *to = (from * most + 0.5).clamp(0.0, most) as i32 as u8;
            }
        }
    }

    #[inline(always)]
    fn grey(&self, from: &[u8], to: &mut [f32]) {
        self.samples(from, to);
        let (scale, offset) = (self.into[0][0], self.grey_offset());
        for v in to {
            *v = *v * scale + offset;
        }
    }

    /// The offset of luma alone.
    fn grey_offset(&self) -> f32 {
        let [scale, _, _, _] = self.into[0];
        -scale * self.back[0][3]
    }

    #[inline(always)]
    fn encode_grey(&self, from: &[f32], made: &mut [f32], to: &mut [u8]) {
        let scale = 1.0 / self.into[0][0];
        for (to, v) in made.iter_mut().zip(from) {
            *to = v * scale + self.back[0][3];
        }
        self.rounded(made, to);
    }

    #[inline(always)]
    fn decode(&self, [luma, blue, red]: [&[u8]; 3], [a, b, c]: [&mut [f32]; 3], half: &mut [f32]) {
        self.samples(luma, a);
        for (from, to) in [(blue, &mut *b), (red, &mut *c)] {
            match self.sampled.0 {
                1 => self.samples(from, to),
                2 => {
                    self.samples(from, half);
                    repeat::<2>(half, to);
                }
                _ => {
                    self.samples(from, half);
                    repeat::<4>(half, to);
                }
            }
        }
        let [x, y, z] = self.into;
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            let (l, cb, cr) = (*a, *b, *c);
            *a = x[0] * l + x[1] * cb + x[2] * cr + x[3];
            *b = y[0] * l + y[1] * cb + y[2] * cr + y[3];
            *c = z[0] * l + z[1] * cb + z[2] * cr + z[3];
        }
    }

    /// Encodes the luma of a row and accumulates its chroma.
    #[inline(always)]
    fn encode(&self, [r, g, b]: [&[f32]; 3], made: &mut [f32], to: &mut [u8], sums: &mut [f32]) {
        let luma = &mut made[..r.len()];
        let (blue, red) = sums.split_at_mut(r.len());
        let [x, y, z] = self.back;
        for i in 0..r.len() {
            let (r, g, b) = (r[i], g[i], b[i]);
            luma[i] = x[0] * r + x[1] * g + x[2] * b + x[3];
            blue[i] += y[0] * r + y[1] * g + y[2] * b + y[3];
            red[i] += z[0] * r + z[1] * g + z[2] * b + z[3];
        }
        self.rounded(luma, to);
    }

    /// The chroma from the sums over `count` rows.
    #[inline(always)]
    fn gather(&self, sums: &[f32], count: f32, made: &mut [f32], to: [&mut [u8]; 2]) {
        let width = sums.len() / 2;
        for (sums, to) in sums.chunks_exact(width).zip(to) {
            let sx = self.sampled.0;
            let made = &mut made[..width.div_ceil(sx)];
            match sx {
                1 => {
                    for (made, sum) in made.iter_mut().zip(sums) {
                        *made = sum / count;
                    }
                }
                2 => means::<2>(sums, count, made),
                _ => means::<4>(sums, count, made),
            }
            self.rounded(made, to);
        }
    }
}

/// Each value `N` times; the last one as often as there is room.
#[inline(always)]
fn repeat<const N: usize>(from: &[f32], to: &mut [f32]) {
    let (groups, rest) = to.as_chunks_mut::<N>();
    for (group, v) in groups.iter_mut().zip(from) {
        *group = [*v; N];
    }
    if let Some(v) = from.last() {
        rest.fill(*v);
    }
}

/// The means of `N` sums over `count` rows; the last one may have fewer.
#[inline(always)]
fn means<const N: usize>(sums: &[f32], count: f32, made: &mut [f32]) {
    let (groups, rest) = sums.as_chunks::<N>();
    for (made, group) in made.iter_mut().zip(groups) {
        *made = group.iter().sum::<f32>() / (N as f32 * count);
    }
    if let (Some(made), false) = (made.get_mut(groups.len()), rest.is_empty()) {
        *made = rest.iter().sum::<f32>() / (rest.len() as f32 * count);
    }
}
