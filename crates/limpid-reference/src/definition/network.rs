//! The networks of [`super::neural`] and [`super::camera`]: U-Nets on blocks of 2×2 pixels. Their forms, what they compute, and a network
//! mirrored or turned.
//!
//! Images are extended to multiples of 16 by repeating their last row and column.

use limpid_core::Image;

/// The sizes of maps are multiples of this.
pub const BLOCK: usize = 16;
/// Slope of the leaky rectifier for negative values.
pub const LEAK: f32 = 0.1;

/// A convolution: kernels of 1×1 or 3×3, for each output and input.
#[derive(Debug, Clone, PartialEq)]
pub struct Convolution {
    /// Number of input planes.
    pub inputs: usize,
    /// Number of output planes.
    pub outputs: usize,
    /// Side of the kernel: 1 or 3.
    pub side: usize,
    /// Ordered by output, input, row and column.
    pub weights: Vec<f32>,
    /// For each output.
    pub bias: Vec<f32>,
}

impl Convolution {
    /// The weight between an input and an output, at a tap counted along the rows.
    pub fn weight(&self, output: usize, input: usize, tap: usize) -> f32 {
        self.weights[(output * self.inputs + input) * self.side * self.side + tap]
    }
}

/// The form of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Planes of the image that it reads.
    pub inputs: usize,
    /// Planes of the maps at 1/2, 1/4, 1/8 and 1/16 of the size.
    pub widths: [usize; 4],
    /// Whether every level has two convolutions before the next smaller one.
    pub deep: bool,
    /// Planes of the image that it computes.
    pub outputs: usize,
}

/// The name of a convolution, and its planes in, planes out and side.
pub type Shape = (&'static str, usize, usize, usize);

impl Form {
    /// The convolutions, in the order of [`Network`].
    pub fn shapes(&self) -> Vec<Shape> {
        let [a, b, c, d] = self.widths;
        let all = [
            ("enc1a", 4 * self.inputs, a, 3),
            ("enc1b", a, a, 3),
            ("enc2", a, b, 3),
            ("enc2b", b, b, 3),
            ("enc3", b, c, 3),
            ("enc3b", c, c, 3),
            ("enc4", c, d, 3),
            ("mid", d, d, 3),
            ("up3", d, c, 1),
            ("dec3a", c, c, 3),
            ("dec3b", c, c, 3),
            ("up2", c, b, 1),
            ("dec2a", b, b, 3),
            ("dec2b", b, b, 3),
            ("up1", b, a, 1),
            ("dec1a", a, a, 3),
            ("dec1b", a, a, 3),
            ("out", a, 4 * self.outputs, 1),
        ];
        let has = |name: &str| self.deep || !matches!(name, "enc2b" | "enc3b");
        all.into_iter().filter(|shape| has(shape.0)).collect()
    }
}

/// The ways in which a network can be mirrored and turned; the first leaves it as it is.
pub const TURNS: usize = 8;

/// A network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Its form.
    pub form: Form,
    /// The convolutions, as [`Form::shapes`] lists them.
    pub layers: Vec<Convolution>,
}

impl Network {
    /// A convolution with its index.
    pub fn layer(&self, name: &str) -> Option<(usize, &Convolution)> {
        let shapes = self.form.shapes();
        let index = shapes.iter().position(|shape| shape.0 == name)?;
        Some((index, self.layers.get(index)?))
    }

    /// What it computes of an image.
    pub fn run(&self, x: &Image) -> Image {
        let plain = |image: &Image, name: &str| match self.layer(name) {
            Some((_, layer)) => convolved(image, layer),
            None => image.clone(),
        };
        let on = |image: &Image, name: &str| leaky(&plain(image, name));
        // The second convolution of a level, which not all networks have.
        let more = |image: Image, name: &str| match self.layer(name) {
            Some(_) => on(&image, name),
            None => image,
        };
        let e1 = on(&on(&unshuffled(x), "enc1a"), "enc1b");
        let e2 = more(on(&pooled(&e1), "enc2"), "enc2b");
        let e3 = more(on(&pooled(&e2), "enc3"), "enc3b");
        let d = on(&on(&pooled(&e3), "enc4"), "mid");
        let d = on(&on(&joined(&e3, &plain(&d, "up3")), "dec3a"), "dec3b");
        let d = on(&on(&joined(&e2, &plain(&d, "up2")), "dec2a"), "dec2b");
        let d = on(&on(&joined(&e1, &plain(&d, "up1")), "dec1a"), "dec1b");
        let raw = plain(&d, "out");
        Image::from_fn(x.width(), x.height(), raw.channels() / 4, |i, j, k| {
            raw.get(i / 2, j / 2, 4 * k + 2 * (j % 2) + i % 2)
        })
    }

    /// The network whose result for an image is that of this one for the mirrored and turned image, mirrored and turned back
    /// (if the sides of the image are multiples of the block).
    #[must_use]
    pub fn turned(&self, turn: usize) -> Self {
        let last = self.layers.len() - 1;
        let turned = |(i, layer): (usize, &Convolution)| {
            let blocks = |there: bool, k: usize| match there {
                true => k / 4 * 4 + place(turn, 2, k % 4),
                false => k,
            };
            let mut made = layer.clone();
            made.weights.clear();
            for output in 0..layer.outputs {
                let from = blocks(i == last, output);
                made.bias[output] = layer.bias[from];
                for input in 0..layer.inputs {
                    let input = blocks(i == 0, input);
                    let taps = 0..layer.side * layer.side;
                    let tap = |t: usize| layer.weight(from, input, place(turn, layer.side, t));
                    made.weights.extend(taps.map(tap));
                }
            }
            made
        };
        Self {
            form: self.form,
            layers: self.layers.iter().enumerate().map(turned).collect(),
        }
    }
}

/// Where the entry of a square of this side, counted along the rows, is in the mirrored and turned square.
fn place(turn: usize, side: usize, at: usize) -> usize {
    let (x, y) = (at % side, at / side);
    let (x, y) = if turn & 4 == 0 { (x, y) } else { (y, x) };
    let flipped = |k: usize, bit: usize| if turn & bit == 0 { k } else { side - 1 - k };
    flipped(y, 2) * side + flipped(x, 1)
}

/// Blocks of 2×2 pixels as planes of half the size, after the sides were extended to multiples of [`BLOCK`].
fn unshuffled(x: &Image) -> Image {
    let [w, h] = [x.width(), x.height()].map(|n| n.next_multiple_of(BLOCK) / 2);
    Image::from_fn(w, h, 4 * x.channels(), |i, j, k| {
        let (i, j) = (2 * i + k % 2, 2 * j + k / 2 % 2);
        x.get(i.min(x.width() - 1), j.min(x.height() - 1), k / 4)
    })
}

/// The maximum of each 2×2 pixels.
fn pooled(image: &Image) -> Image {
    Image::from_fn(
        image.width() / 2,
        image.height() / 2,
        image.channels(),
        |i, j, k| {
            let at = |di, dj| image.get(2 * i + di, 2 * j + dj, k);
            at(0, 0).max(at(1, 0)).max(at(0, 1).max(at(1, 1)))
        },
    )
}

/// A map plus one of half the size, upsampled by repetition.
fn joined(fine: &Image, coarse: &Image) -> Image {
    Image::from_fn(fine.width(), fine.height(), fine.channels(), |i, j, k| {
        fine.get(i, j, k) + coarse.get(i / 2, j / 2, k)
    })
}

fn leaky(image: &Image) -> Image {
    image.map(|v| if v > 0.0 { v } else { LEAK * v })
}

/// A convolution, with zeros outside.
fn convolved(image: &Image, by: &Convolution) -> Image {
    let (w, h, r) = (image.width(), image.height(), by.side / 2);
    let mut out = Image::new(w, h, by.outputs);
    for o in 0..by.outputs {
        let mut sums = vec![f64::from(by.bias[o]); w * h];
        for k in 0..by.inputs {
            let plane = image.plane(k);
            for tap in 0..by.side * by.side {
                let weight = f64::from(by.weight(o, k, tap));
                let (dx, dy) = (tap % by.side, tap / by.side);
                for y in 0..h {
                    let Some(row) = (y + dy).checked_sub(r).filter(|row| *row < h) else {
                        continue;
                    };
                    for x in 0..w {
                        if let Some(q) = (x + dx).checked_sub(r).filter(|q| *q < w) {
                            sums[y * w + x] += weight * f64::from(plane[row * w + q]);
                        }
                    }
                }
            }
        }
        for (to, sum) in out.plane_mut(o).iter_mut().zip(sums) {
            *to = sum as f32;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::neural::{INPUTS, OUTPUTS, guides};
    use super::*;

    /// A turned network sees an image as the network sees the turned image.
    #[test]
    fn turned_networks_see_turned_images() {
        let form = Form {
            inputs: INPUTS,
            widths: [4, 6, 6, 8],
            deep: true,
            outputs: OUTPUTS + 3,
        };
        let mut seed = 1_u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let layers = form.shapes().into_iter().map(|(_, inputs, outputs, side)| {
            let count = inputs * outputs * side * side;
            let size = 1.5 / ((inputs * side * side) as f32).sqrt();
            Convolution {
                inputs,
                outputs,
                side,
                weights: (0..count).map(|_| size * next()).collect(),
                bias: (0..outputs).map(|_| 0.1 * next()).collect(),
            }
        });
        let network = Network {
            form,
            layers: layers.collect(),
        };
        let (w, h) = (32, 32);
        let x = Image::from_fn(w, h, INPUTS, |_, _, _| next());
        let plain = guides(&x, &network);
        for turn in 0..TURNS {
            // Where a pixel is in the turned image.
            let at = |i: usize, j: usize| {
                let place = place(turn, w, j * w + i);
                (place % w, place / w)
            };
            let pixels = || (0..h).flat_map(|j| (0..w).map(move |i| (i, j)));
            let mut turned = x.clone();
            for ((i, j), k) in pixels().flat_map(|p| (0..INPUTS).map(move |k| (p, k))) {
                let (u, v) = at(i, j);
                turned.set(u, v, k, x.get(i, j, k));
            }
            let seen = guides(&turned, &network);
            let made = guides(&x, &network.turned(turn));
            let mut apart = 0.0_f32;
            let planes = 0..plain.channels();
            for ((i, j), k) in pixels().flat_map(|p| planes.clone().map(move |k| (p, k))) {
                let (u, v) = at(i, j);
                let off = (seen.get(u, v, k) - made.get(i, j, k)).abs();
                assert!(off < 1e-4, "turn {turn} at {i}, {j}, plane {k}: {off}");
                apart = apart.max((made.get(i, j, k) - plain.get(i, j, k)).abs());
            }
            assert_eq!(apart > 1e-2, turn > 0, "turn {turn} differs by {apart}");
        }
    }
}
