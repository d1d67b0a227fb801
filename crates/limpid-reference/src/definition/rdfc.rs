//! Robust denoising with features and colour: Vicini 2015, section 3.5.
//!
//! Colour and each feature are given as mean, half difference of two buffers, and sample variance, if present:
//! - both: the sample variance is scaled by a 21×21 box ratio (`SCALESAMPLEVAR`);
//! - two buffers alone: their squared half difference, averaged over 7×7 pixels;
//! - sample variance alone: unscaled; the remaining variance after a filter is then `Σ w² Var / (Σ w)²`;
//! - neither: the variance of colour is estimated from the image ([`image_variance`]); a feature is assumed to be free of noise.
//!
//! Beyond the thesis: sample variances have a floor ([`super::noise::floor`]), unless [`Settings::variance_floor`] is off.
//!
//! If features alone decide, r and g agree except for rounding: risks that are nearly equal count as equal, and g is used;
//! slopes that are nearly equal count as equal, so that the maps do not depend on the device ([`NEARLY`]). The thesis has no
//! such margin.
//!
//! Pixels of different classes ([`super::front`]) never mix, if classes are given. A class counts as a feature with hard edges.
//!
//! Interpretations of the text: "RDPC" is RDFC; `FEATUREFILTER` gets `var_c` without index and `var_flt_f[j]`. A filtered
//! buffer pair is stored as mean and half difference, which are filtered with the same weights.

use super::nlm::{Feature, Filter, Guide};
use super::noise::floor;
use super::window::{gaussian, tent};
use limpid_core::Image;

/// The parameters of the pseudocode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// `R`: radius of the candidates' window; the second pass uses half of it.
    pub radius: usize,
    /// `k_c` of candidates r and g, and of the second pass.
    pub k_color: f64,
    /// `k_f`.
    pub k_feature: f64,
    /// `τ` of candidates r and g.
    pub tau: f64,
    /// `τ` of candidate b, which uses features alone.
    pub tau_features: f64,
    /// Patch radius of candidate r.
    pub patch_fine: usize,
    /// Patch radius everywhere else.
    pub patch: usize,
    /// Whether there is a second pass.
    pub second_pass: bool,
    /// Whether sample variances have a floor; the thesis has none.
    pub variance_floor: bool,
    /// The relative margin by which the risk of r must be lower than that of g, and by which its slope may be higher; the
    /// thesis has none.
    pub margin: f32,
}

/// The square of the range of classes: small, so that pixels of different classes do not mix.
pub const CLASSES: f64 = 1e-3;

/// Lower bound of the variance of a colour, relative to its mean over 7×7 pixels, if there are classes.
pub const LEAST_SHARE: f32 = 0.3;

/// An estimate with the available information about its noise.
#[derive(Debug, Clone)]
pub struct Signal {
    /// The mean.
    pub mean: Image,
    /// Half the difference of two independent halves.
    pub difference: Option<Image>,
    /// The sample variance of the mean.
    pub variance: Option<Image>,
}

/// The result.
#[derive(Debug, Clone)]
pub struct Output {
    /// The result.
    pub color: Image,
    /// Its variance.
    pub variance: Image,
    /// The filtered risk estimates of r, g and b.
    pub risk: Image,
    /// The filtered maps: the shares of r, g and b in the first pass.
    pub selection: Image,
    /// The maps: 1 in the plane of the chosen candidate.
    pub choice: Image,
    /// 1 where the choice would change if risks and slopes were off by [`OFF`].
    pub unsure: Image,
    /// The other layers, filtered with the same weights.
    pub extras: Vec<Image>,
}

/// The whole pseudocode. Pixels of different `class` never mix. Features come with the square of their range, by which `τ` is
/// scaled. Candidates are chosen according to `decided`, if given.
pub fn rdfc(
    color: &Signal,
    features: &[(Signal, f64)],
    (class, decided): (Option<&Image>, Option<&Image>),
    extras: &[Image],
    settings: &Settings,
) -> Output {
    // Lines 1 to 4: variances.
    let c = &color.mean;
    let floored = settings.variance_floor;
    let mut var_c = variance(color, floored).unwrap_or_else(|| image_variance(c));
    if class.is_some() {
        // A few samples that agree by chance are not free of noise.
        let around = box_mean(&var_c, 3);
        let (w, h) = (var_c.width(), var_c.height());
        var_c = Image::from_fn(w, h, var_c.channels(), |x, y, k| {
            var_c.get(x, y, k).max(LEAST_SHARE * around.get(x, y, k))
        });
    }
    // Lines 5 to 9: features.
    let flat: Vec<(Image, Image, f64)> = features
        .iter()
        .map(|(f, range2)| {
            let (mean, variance) = prefilter(f, settings.patch, floored);
            (mean, variance, *range2)
        })
        .collect();
    let apart = class.map(|class| (class.map(|c| c * c), class.map(|_| 0.0)));
    // Lines 10 to 16: candidates.
    let candidate = |patch: Option<usize>, tau: f64| Filter {
        radius: settings.radius,
        guide: patch.map(|patch| Guide {
            image: c,
            variance: &var_c,
            k: settings.k_color,
            patch,
        }),
        features: flat
            .iter()
            .map(|(image, variance, range2)| Feature {
                image,
                variance,
                k: settings.k_feature,
                tau: tau * range2,
                hard: false,
            })
            .chain(apart.iter().map(|(image, variance)| Feature {
                image,
                variance,
                k: settings.k_feature,
                tau: tau * CLASSES,
                hard: true,
            }))
            .collect(),
        patchwise: true,
        symmetric: true,
    };
    let filters = [
        candidate(Some(settings.patch_fine), settings.tau),
        candidate(Some(settings.patch), settings.tau),
        candidate(None, settings.tau_features),
    ];
    let made = filters
        .each_ref()
        .map(|f| f.run(c, color.difference.is_none().then_some(&var_c)));
    // Lines 17 to 21: risk estimates, filtered jointly.
    let nlm = |image, variance, k, radius| Filter {
        radius,
        guide: Some(Guide {
            image,
            variance,
            k,
            patch: settings.patch,
        }),
        features: Vec::new(),
        patchwise: true,
        symmetric: true,
    };
    let (w, h, channels) = (c.width(), c.height(), c.channels());
    let raw = Image::from_fn(w, h, 3, |x, y, k| {
        let sum = |f: &dyn Fn(usize) -> f32| (0..channels).map(f).sum::<f32>();
        sum(&|i| {
            let (u, v) = (c.get(x, y, i), var_c.get(x, y, i));
            (made[k].image.get(x, y, i) - u).powi(2) - v + 2.0 * v * made[k].slope.get(x, y, i)
        })
    });
    let risk = nlm(c, &var_c, 1.0, 1).run(&raw, None).image;
    // Lines 22 to 30: maps, filtered jointly.
    let slope = |k: usize, x, y| -> f32 {
        (0..channels)
            .map(|i| made[k].slope.get(x, y, i))
            .sum::<f32>()
            / channels as f32
    };
    let scale = risk.data().iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let choose = |x: usize, y: usize, off: [f32; 4]| {
        let e = [0, 1, 2].map(|k| risk.get(x, y, k) + off[k] * OFF * scale);
        let slopes = [slope(0, x, y) + off[3] * OFF, slope(1, x, y)];
        least(e, slopes, settings.margin)
    };
    let choice = Image::from_fn(w, h, 3, |x, y, k| match decided {
        Some(decided) => decided.get(x, y, k),
        None => f32::from(u8::from(choose(x, y, [0.0; 4]) == k)),
    });
    let unsure = Image::from_fn(w, h, 1, |x, y, _| {
        let sign = |bits: usize, k: usize| if bits >> k & 1 == 1 { 1.0 } else { -1.0 };
        let moved = |bits| choose(x, y, [0, 1, 2, 3].map(|k| sign(bits, k)));
        let here = choose(x, y, [0.0; 4]);
        f32::from(u8::from((0..16).any(|bits| moved(bits) != here)))
    });
    let selection = nlm(c, &var_c, 1.0, 5).run(&choice, None).image;
    // Lines 31 to 32: averaging.
    let blend = |images: [&Image; 3]| {
        Image::from_fn(w, h, images[0].channels(), |x, y, i| {
            (0..3)
                .map(|k| selection.get(x, y, k) * images[k].get(x, y, i))
                .sum()
        })
    };
    let all = |image: &Image| {
        let made = filters.each_ref().map(|f| f.run(image, None).image);
        blend(made.each_ref())
    };
    let pass1 = blend(made.each_ref().map(|m| &m.image));
    let difference = color.difference.as_ref().map(&all);
    let extras: Vec<Image> = extras.iter().map(&all).collect();
    let left = made.each_ref().map(|m| m.residual.as_ref());
    let var1 = match (&difference, left) {
        (Some(d), _) => two_buffer_variance(d),
        (None, [Some(r), Some(g), Some(b)]) => blend([r, g, b]),
        _ => var_c.clone(),
    };
    if !settings.second_pass {
        return Output {
            color: pass1,
            variance: var1,
            risk,
            selection,
            choice,
            unsure,
            extras,
        };
    }
    // Lines 33 to 37: the second pass.
    let second = nlm(&pass1, &var1, settings.k_color, settings.radius / 2);
    let pass2 = second.run(&pass1, difference.is_none().then_some(&var1));
    let variance = match (&difference, pass2.residual) {
        (Some(d), _) => two_buffer_variance(&second.run(d, None).image),
        (None, Some(left)) => left,
        (None, None) => var1.clone(),
    };
    Output {
        color: pass2.image,
        variance,
        risk,
        selection,
        choice,
        unsure,
        extras: extras.iter().map(|e| second.run(e, None).image).collect(),
    }
}

/// Lines 23 to 25: the candidate with the lowest risk; r only if its slope is not higher than that of g. `margin` is 0 in the
/// thesis.
pub fn least([r, g, b]: [f32; 3], [slope_r, slope_g]: [f32; 2], margin: f32) -> usize {
    let first = r < g.min(b) - margin * (r.abs() + g.abs());
    if first && slope_r <= slope_g + margin {
        0
    } else if g < b {
        1
    } else {
        2
    }
}

/// A feature filtered by itself, and its remaining variance.
fn prefilter(feature: &Signal, patch: usize, floored: bool) -> (Image, Image) {
    let Some(variance) = variance(feature, floored) else {
        return (feature.mean.clone(), feature.mean.map(|_| 0.0));
    };
    let filter = Filter {
        radius: 5,
        guide: Some(Guide {
            image: &feature.mean,
            variance: &variance,
            k: 1.0,
            patch,
        }),
        features: Vec::new(),
        patchwise: true,
        symmetric: true,
    };
    let made = filter.run(&feature.mean, Some(&variance));
    let left = match &feature.difference {
        Some(d) => two_buffer_variance(&filter.run(d, None).image),
        None => made.residual.unwrap_or_else(|| variance.clone()),
    };
    (made.image, left)
}

/// The variance of an estimate, from the available data; `None` without any.
pub fn variance(signal: &Signal, floored: bool) -> Option<Image> {
    let two = signal.difference.as_ref().map(|d| d.map(|d| d * d));
    let samples = signal.variance.as_ref();
    let samples = samples.map(|v| if floored { floor(v) } else { v.clone() });
    match (&two, &samples) {
        (Some(two), Some(samples)) => {
            let (a, b) = (box_mean(two, 10), box_mean(samples, 10));
            let (width, height) = (two.width(), two.height());
            Some(Image::from_fn(width, height, two.channels(), |x, y, c| {
                scaled(samples.get(x, y, c), a.get(x, y, c), b.get(x, y, c))
            }))
        }
        (Some(two), None) => Some(box_mean(two, 3)),
        (None, _) => samples,
    }
}

/// `SCALESAMPLEVAR`: 0 if there is no sample variance around.
fn scaled(samples: f32, two: f32, mean: f32) -> f32 {
    if mean > 0.0 {
        samples * (two / mean)
    } else {
        0.0
    }
}

/// A tent without slope.
fn box_mean(image: &Image, radius: usize) -> Image {
    tent(image, radius, 1.0, 0.0)
}

/// `TWOBUFFERVAR`: the squared half difference, blurred a little.
pub fn two_buffer_variance(difference: &Image) -> Image {
    gaussian(&difference.map(|d| d * d), 2, 0.5)
}

/// [`Settings::margin`] unless the thesis is followed.
pub const NEARLY: f32 = 1e-3;

/// Tolerance of risks, relative to the largest, and of slopes between devices.
pub const OFF: f32 = 2e-3;

/// The expected smallest of four squared second differences with one centre, of white noise of variance 1, over 6 (by sampling,
/// 4 million draws).
pub const LEAST_OF_FOUR: f32 = 0.278_7;

/// Variance of an image, estimated from the image alone. A second difference `u(p-o) - 2u(p) + u(p+o)` of white noise has six
/// times its variance and is zero on ramps; the smallest of four directions ignores straight edges. Averaged over
/// 7×7 pixels.
pub fn image_variance(image: &Image) -> Image {
    let (w, h) = (image.width(), image.height());
    let least = Image::from_fn(w, h, image.channels(), |x, y, c| {
        let (mut least, mut found) = (f32::INFINITY, 0);
        for (dx, dy) in [(1i64, 0i64), (0, 1), (1, 1), (1, -1)] {
            let at = |s: i64| {
                let (x, y) = (x as i64 + s * dx, y as i64 + s * dy);
                let inside = (0..w as i64).contains(&x) && (0..h as i64).contains(&y);
                inside.then(|| image.get(x as usize, y as usize, c))
            };
            if let (Some(a), Some(b)) = (at(-1), at(1)) {
                least = least.min((a + b - 2.0 * image.get(x, y, c)).powi(2));
                found += 1;
            }
        }
        match found {
            0 => 0.0,
            // On the border there is only one direction.
            1 => least / 6.0,
            _ => least / (6.0 * LEAST_OF_FOUR),
        }
    });
    box_mean(&least, 3)
}

#[cfg(test)]
mod tests {
    use super::least;

    /// Lines 23 to 25 of the listing, literally.
    #[test]
    fn without_a_margin_the_choice_is_that_of_the_listing() {
        let values = [-1.0f32, 0.0, 0.5, 0.500_1, 2.0];
        for i in 0..5usize.pow(5) {
            let [e_r, e_g, e_b, d_r, d_g] = [1, 5, 25, 125, 625].map(|n| values[i / n % 5]);
            let sel_r = e_r < e_g && e_r < e_b && d_r <= d_g;
            let sel_g = e_g < e_b && (e_g <= e_r || d_r > d_g);
            let sel_b = e_b <= e_g && (e_b <= e_r || d_r > d_g);
            let made = least([e_r, e_g, e_b], [d_r, d_g], 0.0);
            assert_eq!(
                [sel_r, sel_g, sel_b],
                [0, 1, 2].map(|k| k == made),
                "{e_r} {e_g} {e_b} {d_r} {d_g}"
            );
        }
    }
}
