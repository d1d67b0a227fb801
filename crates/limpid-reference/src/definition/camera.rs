//! Learned denoising of photographs.
//!
//! A network reads stabilised values, whose noise has standard deviation 1 ([`super::stabilise`]), and the brightness of each pixel. It
//! computes the noise of the pixel, which is subtracted. What is known of the noise as a whole, its strength and its spectrum, sets
//! the biases of the network. At most [`MOST`] standard deviations are subtracted, so that nothing appears in a picture which its
//! noise could not have hidden.

use super::network::{Form, Network};
use crate::noise::{Profile, SIDE, Stabiliser};
use limpid_core::Image;

/// Planes that the network reads: luminance, two colour differences, brightness.
pub const INPUTS: usize = 4;
/// Planes that it computes: noise of luminance and of two colour differences, and one without a meaning, so that they fill vectors.
pub const OUTPUTS: usize = 4;
/// The network reads stabilised values over this.
const SCALE: f32 = 8.0;
/// The largest noise of a pixel, in standard deviations.
pub const MOST: f32 = 4.0;
/// Numbers that describe the noise of a picture.
pub const FEATURES: usize = 12;
/// The deviation of missing colour differences, relative to that of a channel.
const ABSENT: f32 = 1e-3;
/// Deviations of luminance and colour differences count as at least this share of the largest.
const LEAST: f32 = 0.1;

/// The noise of a picture as the network is told: the logarithms of its strength and of the deviations of colour differences over that of
/// luminance, then the amplitudes at long, middle and short waves of all three.
pub fn features(profile: &Profile) -> [f32; FEATURES] {
    let mut all = [0.0; FEATURES];
    all[0] = (255.0 * profile.strength().max(1e-5)).ln() / 4.0;
    let most = profile
        .components
        .iter()
        .fold(0.0f32, |m, c| m.max(c.deviation));
    let least = (LEAST * most).max(ABSENT);
    let light = match profile.components.len() {
        1 => 3f32.sqrt(),
        _ => profile.components[0].deviation.max(least),
    };
    for k in 0..3 {
        let component = profile.components.get(k);
        if k > 0 {
            let own = component.map_or(ABSENT, |c| c.deviation.max(least));
            all[k] = (own / light).ln();
        }
        for (band, first) in [0..2, 2..5, 5..SIDE].into_iter().enumerate() {
            let within = |at: &usize| first.contains(&(at / SIDE).max(at % SIDE));
            let (mut sum, mut count) = (0.0, 0.0);
            for at in (0..SIDE * SIDE).filter(within) {
                sum += component.map_or(0.0, |c| c.spectrum.0[at]);
                count += 1.0;
            }
            all[3 + 3 * band + k] = (sum / count + 1e-6f32).sqrt();
        }
    }
    all
}

/// A layer in which every output depends on every input.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    /// Ordered by output and input.
    pub weights: Vec<f32>,
    /// For each output.
    pub bias: Vec<f32>,
}

impl Dense {
    fn run(&self, x: &[f32]) -> Vec<f32> {
        let rows = self.weights.chunks(x.len()).zip(&self.bias);
        rows.map(|(row, bias)| row.iter().zip(x).map(|(w, v)| w * v).sum::<f32>() + bias)
            .collect()
    }
}

/// A network whose biases depend on the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditional {
    /// The network; the given numbers are added to its biases.
    pub network: Network,
    /// From the features of the noise to hidden values.
    pub told: Dense,
    /// From the hidden values to what is added to the biases, of all convolutions in their order.
    pub biases: Dense,
}

impl Conditional {
    /// The network for a picture with this noise.
    pub fn about(&self, features: &[f32; FEATURES]) -> Network {
        let leaky = |v: f32| if v > 0.0 { v } else { super::network::LEAK * v };
        let hidden: Vec<f32> = self.told.run(features).into_iter().map(leaky).collect();
        let mut network = self.network.clone();
        let all = network.layers.iter_mut().flat_map(|l| &mut l.bias);
        all.zip(self.biases.run(&hidden)).for_each(|(b, v)| *b += v);
        network
    }
}

/// The form of a network with these planes.
pub fn form(widths: [usize; 4], deep: bool) -> Form {
    Form {
        inputs: INPUTS,
        widths,
        deep,
        outputs: OUTPUTS,
    }
}

/// The factors of luminance and colour differences before the network reads them. Where one has no noise, or none that is to be removed, its
/// stabilised values are large beyond all measure.
pub fn gains(by: &Stabiliser) -> [f32; 3] {
    let least = LEAST * by.scales.iter().fold(0.0f32, |m, s| m.max(*s));
    std::array::from_fn(|k| match by.scales.get(k) {
        Some(scale) => scale / scale.max(least) / SCALE,
        None => 0.0,
    })
}

/// What the network reads: stabilised values, and the mean of the image's channels. Grey images have no colour differences.
pub fn inputs(image: &Image, stabilised: &Image, gains: [f32; 3]) -> Image {
    let channels = image.channels();
    Image::from_fn(image.width(), image.height(), INPUTS, |x, y, k| match k {
        3 => {
            let sum: f32 = (0..channels).map(|c| image.get(x, y, c)).sum();
            (sum / channels as f32).clamp(0.0, 1.0)
        }
        k if k < channels => stabilised.get(x, y, k) * gains[k],
        _ => 0.0,
    })
}

/// A value without its noise, as the network computes it.
#[inline(always)]
pub fn without(value: f32, noise: f32) -> f32 {
    value - MOST * (noise / MOST).tanh()
}

/// Stabilised values without their noise.
pub fn cleaned(image: &Image, stabilised: &Image, network: &Network, gains: [f32; 3]) -> Image {
    let noise = network.run(&inputs(image, stabilised, gains));
    let (width, height) = (image.width(), image.height());
    Image::from_fn(width, height, image.channels(), |x, y, c| {
        without(stabilised.get(x, y, c), noise.get(x, y, c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grey pictures are told apart from colour by what is missing.
    #[test]
    fn features_describe_the_noise() {
        let white = features(&Profile::white(25.0 / 255.0, 3));
        assert!((white[0] - 25f32.ln() / 4.0).abs() < 1e-5);
        assert_eq!(white[1..3], [0.0, 0.0]);
        assert!(white[3..].iter().all(|v| (v - 1.0).abs() < 1e-5));
        let grey = features(&Profile::white(25.0 / 255.0, 1));
        assert_eq!(grey[0], white[0]);
        assert!(grey[1] < -7.0 && grey[2] < -7.0);
        assert_eq!([grey[3], grey[6], grey[9]].map(f32::round), [1.0; 3]);
        assert!(grey[4] < 0.01 && grey[11] < 0.01);
    }

    /// A component without noise does not drown the others.
    #[test]
    fn components_without_noise_are_scaled_down() {
        let mut profile = Profile::white(0.02, 3);
        profile.components[0].deviation = 0.0;
        let gains = gains(&profile.stabiliser(&[1.0; 3]));
        assert_eq!(gains[1..], [1.0 / SCALE; 2]);
        assert!((gains[0] * SCALE - 1e-2).abs() < 1e-6, "{gains:?}");
        assert!(features(&profile)[1..3].iter().all(|v| *v < 2.5));
    }

    #[test]
    fn no_more_than_noise_is_removed() {
        assert_eq!(without(3.0, 0.0), 3.0);
        assert!((without(3.0, 0.1) - 2.9).abs() < 1e-3);
        assert_eq!(without(0.0, 1e9), -MOST);
        assert_eq!(without(0.0, -1e9), MOST);
    }
}
