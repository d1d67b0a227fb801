//! Maps values so that the noise of a [`Profile`](crate::noise::Profile) is uniform, and back.
//!
//! Forward: each channel is mapped by `∫ dv/σ(v)`, piecewise linear between knots, so that its noise has standard deviation 1;
//! red, green and blue become luminance and two colour differences, each divided by the standard deviation of its noise.
//! Inverse: the reverse; the curve is inverted at the means of mapped noisy values, so that brightness is preserved (to second
//! order, as for the Anscombe transform).

use super::shrink::opponent;
use crate::noise::Stabiliser;
use limpid_core::Image;

impl Stabiliser {
    /// The value of a channel, stabilised.
    #[inline]
    pub fn value(&self, channel: usize, v: f32) -> f32 {
        let list = &self.into[channel];
        let at = (v - self.low) / self.step;
        // What is below the list becomes 0.
        let i = (at as usize).min(list.len() - 2);
        list[i] + (list[i + 1] - list[i]) * (at - i as f32)
    }

    /// The value of a channel from which stabilised values with this mean originate.
    #[inline]
    pub fn back(&self, channel: usize, v: f32) -> f32 {
        let list = &self.back[channel];
        let mut low = 0;
        let mut count = list.len() - 1;
        // Binary search for the last knot that is not above, among all but the last.
        while count > 1 {
            let half = count / 2;
            if list[low + half] <= v {
                low += half;
            }
            count -= half;
        }
        let share = (v - list[low]) / (list[low + 1] - list[low]);
        self.low + self.step * (low as f32 + share)
    }
}

/// Stabilises an image of one or three channels.
pub fn stabilised(image: &Image, by: &Stabiliser) -> Image {
    let (width, height, channels) = (image.width(), image.height(), image.channels());
    let curved = Image::from_fn(width, height, channels, |x, y, c| {
        by.value(c, image.get(x, y, c))
    });
    let turned = opponent(&curved, false);
    Image::from_fn(width, height, channels, |x, y, c| {
        turned.get(x, y, c) / by.scales[c]
    })
}

/// The inverse.
pub fn restored(image: &Image, by: &Stabiliser) -> Image {
    let (width, height, channels) = (image.width(), image.height(), image.channels());
    let scaled = Image::from_fn(width, height, channels, |x, y, c| {
        image.get(x, y, c) * by.scales[c]
    });
    let turned = opponent(&scaled, true);
    Image::from_fn(width, height, channels, |x, y, c| {
        by.back(c, turned.get(x, y, c))
    })
}

#[cfg(test)]
mod tests {
    use crate::noise::Profile;

    #[test]
    fn means_come_back() {
        // Noise that grows with the light; tests the inverse of the mean of many stabilised samples.
        let mut profile = Profile::white(0.1, 1);
        profile.deviations[0] = (0..17)
            .map(|i| (0.003 * (i as f32 / 16.0) + 0.0004).sqrt())
            .collect();
        let by = profile.stabiliser(&[1.0]);
        for mean in [0.1f32, 0.3, 0.5, 0.8] {
            let sigma = profile.deviation(0, mean);
            let samples = (-400..=400).map(|i| {
                let u = i as f32 / 100.0;
                ((-0.5 * u * u).exp(), by.value(0, mean + sigma * u))
            });
            let (mut sum, mut weight) = (0.0, 0.0);
            for (w, v) in samples {
                sum += w * v;
                weight += w;
            }
            let back = by.back(0, sum / weight);
            assert!((back - mean).abs() < 0.03 * sigma, "{mean}: {back}");
        }
        for v in [-0.2f32, 0.0, 0.31, 1.0, 1.7] {
            let plain = Profile::white(0.1, 1).stabiliser(&[1.0]);
            assert!((plain.back(0, plain.value(0, v)) - v).abs() < 1e-6);
        }
    }

    /// Channels may differ in whether their noise depends on brightness.
    #[test]
    fn channels_come_back_together() {
        let rising = |first: f32| (0..16).map(|i| first + 0.001 * i as f32).collect();
        for even in 0..3 {
            let mut profile = Profile::white(0.02, 3);
            profile.range = [0.02, 0.9];
            profile.deviations = (0..3)
                .map(|c| match c == even {
                    true => vec![0.02; 16],
                    false => rising(0.01 + 0.002 * c as f32),
                })
                .collect();
            let by = profile.stabiliser(&[1.0; 3]);
            for c in 0..3 {
                for v in [0.0f32, 0.02, 0.3, 0.55, 0.9, 1.0] {
                    let back = by.back(c, by.value(c, v));
                    let sigma = profile.deviation(c, v);
                    assert!((back - v).abs() < 0.6 * sigma, "{even} {c} {v}: {back}");
                    let rise = (by.value(c, v + 0.01) - by.value(c, v)) / 0.01;
                    assert!((rise * sigma - 1.0).abs() < 0.1, "{even} {c} {v}: {rise}");
                }
            }
        }
    }
}
