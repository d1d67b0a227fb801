//! The noise of an image: its strength at each brightness, and its distribution over scales and colours.
//!
//! A [`Profile`] has two parts. The first is the standard deviation of each channel's noise as a function of the channel's
//! value: sensors have more noise in bright areas, display curves in dark ones. The second, after each channel is divided by
//! the first, is the power spectrum of luminance and of two colour differences: demosaicing, JPEG and resizing make noise
//! coarse, especially colour noise.
//!
//! [`Profile::estimate`] measures it in an image, [`Profile::white`] is white noise. Values are those of the image file, which
//! methods also use.

mod blocks;
mod curves;
mod estimate;
mod flat;
mod json;
mod moving;
mod spectrum;
#[cfg(test)]
mod tests;
mod texture;

pub use spectrum::{SIDE, Spectrum};

/// The noise of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The values at the first and the last entry of [`Profile::deviations`].
    pub range: [f32; 2],
    /// For each channel the standard deviation of its noise, at values in equal steps over the range.
    pub deviations: Vec<Vec<f32>>,
    /// After the channels are divided by their deviations: the grey channel, or luminance and two colour differences, as
    /// defined by [`crate::definition::shrink::OPPONENT`].
    pub components: Vec<Component>,
}

/// The noise of luminance or of a colour difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its standard deviation; 1 for white noise.
    pub deviation: f32,
    /// Its spectrum.
    pub spectrum: Spectrum,
}

impl Profile {
    /// White noise of one standard deviation.
    pub fn white(sigma: f32, channels: usize) -> Self {
        let component = Component {
            deviation: 1.0,
            spectrum: Spectrum::white(),
        };
        Self {
            range: [0.0, 1.0],
            deviations: vec![vec![sigma; 2]; channels],
            components: vec![component; channels],
        }
    }

    /// White noise of a sensor: `gain` is the value of one electron, `read` the deviation of the read noise.
    pub fn poisson(gain: f32, read: f32, channels: usize) -> Self {
        let entry = |i: usize| (gain * i as f32 / 64.0 + read * read).max(1e-12).sqrt();
        Self {
            deviations: vec![(0..=64).map(entry).collect(); channels],
            ..Self::white(1.0, channels)
        }
    }

    /// A short summary of the profile.
    pub fn summary(&self) -> String {
        let least = self
            .deviations
            .iter()
            .flatten()
            .fold(f32::MAX, |m, d| m.min(*d));
        let most = self
            .deviations
            .iter()
            .flatten()
            .fold(0.0f32, |m, d| m.max(*d));
        if 255.0 * most < 0.05 {
            return "noise not found, or not told from texture".into();
        }
        let fine = self
            .components
            .first()
            .map_or(1.0, |c| c.spectrum.fineness());
        let kind = match fine {
            f if f > 0.7 => "fine",
            f if f > 0.35 => "slightly coarse",
            _ => "coarse",
        };
        format!(
            "noise {:.1} to {:.1} of 255, {kind}",
            255.0 * least,
            255.0 * most
        )
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.deviations.len()
    }

    /// The profile for a different number of channels: grey uses luminance, colour from grey repeats its noise.
    #[must_use]
    pub fn fit(&self, channels: usize) -> Self {
        let count = self.channels();
        if count == channels || count == 0 {
            return self.clone();
        }
        let of = |c: usize| c.min(count - 1);
        let mut fitted = Self {
            range: self.range,
            deviations: (0..channels)
                .map(|c| self.deviations[of(c)].clone())
                .collect(),
            components: (0..channels)
                .map(|c| self.components[of(c)].clone())
                .collect(),
        };
        if channels == 1 {
            // A grey image from a camera: the mean of the channels, whose noise is that of luminance over √3.
            let share = self.components[0].deviation / (count as f32).sqrt();
            let mean = |i: usize| {
                let all = self.deviations.iter().map(|d| d[i.min(d.len() - 1)]);
                all.sum::<f32>() / count as f32 * share
            };
            fitted.deviations = vec![(0..self.deviations[0].len()).map(mean).collect()];
            fitted.components[0].deviation = 1.0;
        }
        fitted
    }

    /// The deviation of a channel's noise at a value.
    pub fn deviation(&self, channel: usize, value: f32) -> f32 {
        let list = &self.deviations[channel];
        let last = list.len() - 1;
        let [low, high] = self.range;
        let at = ((value - low) / (high - low) * last as f32).clamp(0.0, last as f32);
        let i = (at as usize).min(last.saturating_sub(1));
        let next = list[(i + 1).min(last)];
        list[i] + (next - list[i]) * (at - i as f32)
    }

    /// The root mean square deviation over all channels and values.
    pub fn strength(&self) -> f32 {
        let (mut sum, mut count) = (0.0f64, 0.0f64);
        for d in self.deviations.iter().flatten() {
            sum += f64::from(*d).powi(2);
            count += 1.0;
        }
        (sum / count.max(1.0)).sqrt() as f32
    }

    /// The profile with no more noise than cameras have at an ISO speed: what is measured beyond that is texture. The limit is four times
    /// what large sensors have, and grows with the root of the speed.
    #[must_use]
    pub fn at_iso(mut self, iso: u32) -> Self {
        const AT_100: f32 = 4.0 / 255.0;
        let most = AT_100 * (iso as f32 / 100.0).sqrt();
        let strength = self.strength();
        if strength > most {
            let scale = most / strength;
            self.deviations
                .iter_mut()
                .flatten()
                .for_each(|d| *d *= scale);
        }
        self
    }

    /// The normalisation that gives the noise of each component standard deviation 1: curves of channels and divisors of
    /// components. The noise of components is overestimated by the factors `stronger`.
    pub fn stabiliser(&self, stronger: &[f32]) -> Stabiliser {
        // All channels share their knots: two if none of them depends on brightness.
        let even = |list: &Vec<f32>| list.iter().all(|d| *d == list[0]);
        let even = self.deviations.iter().all(even);
        let curve = |list: &Vec<f32>| match even {
            true => line(list[0], self.range),
            false => curve(list, self.range),
        };
        let curves: Vec<(Vec<f32>, Vec<f32>)> = self.deviations.iter().map(curve).collect();
        let last = curves.first().map_or(1, |c| c.0.len() - 1);
        Stabiliser {
            low: self.range[0],
            step: (self.range[1] - self.range[0]) / last as f32,
            into: curves.iter().map(|c| c.0.clone()).collect(),
            back: curves.into_iter().map(|c| c.1).collect(),
            scales: (self.components.iter().zip(stronger))
                .map(|(c, s)| (c.deviation * s).max(1e-3))
                .collect(),
        }
    }
}

/// The map to values with uniform noise, and back: see [`crate::definition::stabilise`].
#[derive(Debug, Clone, PartialEq)]
pub struct Stabiliser {
    /// The value at the first knot.
    pub low: f32,
    /// The distance between knots.
    pub step: f32,
    /// For each channel, the mapped values at the knots.
    pub into: Vec<Vec<f32>>,
    /// For each channel, the means of mapped noisy values whose own means are at the knots.
    pub back: Vec<Vec<f32>>,
    /// The divisors of components.
    pub scales: Vec<f32>,
}

/// Deviations below this share of the largest value count as noise-free.
const LEAST: f32 = 1e-6;

/// The curve of a constant deviation.
fn line(deviation: f32, [low, high]: [f32; 2]) -> (Vec<f32>, Vec<f32>) {
    let by = deviation.max(LEAST * low.abs().max(high.abs()));
    let ends = [low, high].map(|v| v / by);
    (ends.to_vec(), ends.to_vec())
}

/// `∫ dv/σ(v)` at the knots, and its mean for noisy values: to second order, lower by half the slope of σ.
fn curve(deviations: &[f32], [low, high]: [f32; 2]) -> (Vec<f32>, Vec<f32>) {
    let most = deviations.iter().fold(0.0f32, |m, d| m.max(*d));
    // Noise seems to vanish where values are clipped; and squares of stabilised values must not overflow.
    let floor = (0.15 * most).max(LEAST * low.abs().max(high.abs()));
    let list: Vec<f64> = deviations.iter().map(|d| f64::from(d.max(floor))).collect();
    // Four knots for each entry, so that linear interpolation is close to the integral.
    const FINE: usize = 4;
    let count = (list.len() - 1) * FINE;
    let step = f64::from(high - low) / count as f64;
    let at = |k: usize| {
        let (i, f) = (k / FINE, (k % FINE) as f64 / FINE as f64);
        list[i] + (list[(i + 1).min(list.len() - 1)] - list[i]) * f
    };
    let mut into = vec![f64::from(low) / list[0]];
    for k in 0..count {
        let last = into[k];
        into.push(last + step * 0.5 * (1.0 / at(k) + 1.0 / at(k + 1)));
    }
    let mut back: Vec<f64> = (0..=count)
        .map(|k| {
            let (a, b) = (k.saturating_sub(FINE), (k + FINE).min(count));
            into[k] - 0.5 * (at(b) - at(a)) / (step * (b - a) as f64)
        })
        .collect();
    // The curve must increase: at least a tenth as fast as the first one.
    for k in 0..count {
        back[k + 1] = back[k + 1].max(back[k] + 0.1 * (into[k + 1] - into[k]));
    }
    let single = |v: Vec<f64>| v.into_iter().map(|v| v as f32).collect();
    (single(into), single(back))
}
