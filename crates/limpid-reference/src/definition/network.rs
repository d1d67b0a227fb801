//! The networks of [`super::neural`]: their forms, and a network mirrored or turned.

use super::neural::{INPUTS, OUTPUTS};

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
    /// Planes of the maps at 1/2, 1/4, 1/8 and 1/16 of the size.
    pub widths: [usize; 4],
    /// Whether every level has two convolutions before the next smaller one.
    pub deep: bool,
    /// Whether it has the factor of the divisor.
    pub divides: bool,
}

/// The name of a convolution, and its planes in, planes out and side.
pub type Shape = (&'static str, usize, usize, usize);

impl Form {
    /// The convolutions, in the order of [`Network`].
    pub fn shapes(&self) -> Vec<Shape> {
        let [a, b, c, d] = self.widths;
        let outputs = OUTPUTS + if self.divides { 3 } else { 0 };
        let all = [
            ("enc1a", 4 * INPUTS, a, 3),
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
            ("out", a, 4 * outputs, 1),
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

#[cfg(test)]
mod tests {
    use super::super::neural::guides;
    use super::*;
    use limpid_core::Image;

    /// A turned network sees an image as the network sees the turned image.
    #[test]
    fn turned_networks_see_turned_images() {
        let form = Form {
            widths: [4, 6, 6, 8],
            deep: true,
            divides: true,
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
