//! Samples of a frame ↔ images.

use super::{Chroma, Colour, Header};
use crate::{Error, Image, Result, Size};

/// Weights of red and blue in luma: BT.709 from 720 rows on, BT.601 below, as video programs assume.
fn shares(size: Size) -> (f32, f32) {
    if size.height >= 720 {
        (0.2126, 0.0722)
    } else {
        (0.299, 0.114)
    }
}

/// Range of stored luma and chroma, as shares of the largest sample.
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

/// The image of a frame.
pub(super) fn decode(header: &Header, colour: Colour, bytes: &[u8]) -> Result<Image> {
    let Size { width, height } = header.size;
    let most = ((1u32 << header.bits) - 1) as f32;
    let mut samples = Samples {
        bytes,
        wide: header.bits > 8,
        most,
    };
    let mut planes = samples.take(header.size.pixels());
    if let (Some(small), Chroma::Sampled(sx, sy)) = (header.chroma_size(), header.chroma) {
        for _ in 0..2 {
            let plane = samples.take(small.pixels());
            for y in 0..height {
                let row = &plane[y / sy * small.width..][..small.width];
                planes.extend((0..width).map(|x| row[x / sx]));
            }
        }
    }
    let channels = planes.len() / header.size.pixels().max(1);
    let mut image = Image::from_planes(width, height, channels, planes)?;
    if colour == Colour::Encoded {
        to_rgb(&mut image, header);
    }
    Ok(image)
}

struct Samples<'a> {
    bytes: &'a [u8],
    wide: bool,
    most: f32,
}

impl Samples<'_> {
    fn take(&mut self, count: usize) -> Vec<f32> {
        let (own, rest) = self.bytes.split_at(count * if self.wide { 2 } else { 1 });
        self.bytes = rest;
        if self.wide {
            let pairs = own.chunks_exact(2);
            pairs
                .map(|b| f32::from(u16::from_le_bytes([b[0], b[1]])) / self.most)
                .collect()
        } else {
            own.iter().map(|b| f32::from(*b) / self.most).collect()
        }
    }
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
        return Err(Error::input(format!(
            "y4m: frames are {} with {channels} channels, not {} with {}",
            header.size,
            image.size(),
            image.channels()
        )));
    }
    let mut image = image.clone();
    if colour == Colour::Encoded {
        from_rgb(&mut image, header);
    }
    bytes.clear();
    let most = ((1u32 << header.bits) - 1) as f32;
    let mut put = |v: f32| {
        let code = (v * most).round().clamp(0.0, most) as u16;
        if header.bits > 8 {
            bytes.extend(code.to_le_bytes());
        } else {
            bytes.push(code as u8);
        }
    };
    image.plane(0).iter().for_each(|v| put(*v));
    if let (Some(small), Chroma::Sampled(sx, sy)) = (header.chroma_size(), header.chroma) {
        let Size { width, height } = header.size;
        for c in 1..3 {
            for y in 0..small.height {
                for x in 0..small.width {
                    let (mut sum, mut count) = (0.0, 0.0);
                    for v in y * sy..((y + 1) * sy).min(height) {
                        for u in x * sx..((x + 1) * sx).min(width) {
                            sum += image.get(u, v, c);
                            count += 1.0;
                        }
                    }
                    put(sum / count);
                }
            }
        }
    }
    Ok(())
}

fn to_rgb(image: &mut Image, header: &Header) {
    let range = Range::of(header);
    let (red, blue) = shares(header.size);
    if image.channels() == 1 {
        let grey = |v: &mut f32| *v = (*v - range.black) / range.brightness;
        return image.data_mut().iter_mut().for_each(grey);
    }
    each_pixel(image, |[y, cb, cr]| {
        let bright = (y - range.black) / range.brightness;
        let b = 2.0 * (1.0 - blue) * (cb - range.middle) / range.difference;
        let r = 2.0 * (1.0 - red) * (cr - range.middle) / range.difference;
        let green = (red * r + blue * b) / (1.0 - red - blue);
        [bright + r, bright - green, bright + b]
    });
}

fn from_rgb(image: &mut Image, header: &Header) {
    let range = Range::of(header);
    let (red, blue) = shares(header.size);
    if image.channels() == 1 {
        let grey = |v: &mut f32| *v = *v * range.brightness + range.black;
        return image.data_mut().iter_mut().for_each(grey);
    }
    each_pixel(image, |[r, g, b]| {
        let bright = red * r + (1.0 - red - blue) * g + blue * b;
        let cb = (b - bright) / (2.0 * (1.0 - blue));
        let cr = (r - bright) / (2.0 * (1.0 - red));
        [
            bright * range.brightness + range.black,
            cb * range.difference + range.middle,
            cr * range.difference + range.middle,
        ]
    });
}

/// Applies a function to the three channels of every pixel.
fn each_pixel(image: &mut Image, change: impl Fn([f32; 3]) -> [f32; 3]) {
    let pixels = image.size().pixels();
    let (a, rest) = image.data_mut().split_at_mut(pixels);
    let (b, c) = rest.split_at_mut(pixels);
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        [*a, *b, *c] = change([*a, *b, *c]);
    }
}
