//! The samples of a pixel, and one of all of them.

use ::exr::meta::attribute::SampleType;
use ::exr::meta::header::Header;

/// The channels of a part.
pub(super) struct Channels {
    pub(super) kinds: Vec<SampleType>,
    pub(super) z: Option<usize>,
    pub(super) back: Option<usize>,
    pub(super) alpha: Option<usize>,
}

impl Channels {
    pub(super) fn of(header: &Header) -> Self {
        let list = &header.channels.list;
        let named = |name: &[u8]| list.iter().position(|c| c.name.as_slice() == name);
        Self {
            kinds: list.iter().map(|c| c.sample_type).collect(),
            z: named(b"Z"),
            back: named(b"ZBack"),
            alpha: named(b"A"),
        }
    }

    /// Bytes of a sample.
    pub(super) fn bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.bytes_per_sample()).sum()
    }
}

/// A sample: from where to where, and all channels.
#[derive(Debug, Clone)]
struct Sample {
    z: f64,
    back: f64,
    alpha: f64,
    values: Vec<f64>,
}

/// The samples of a pixel.
#[derive(Default)]
pub(super) struct Pixel(Vec<Sample>);

impl Pixel {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, channels: &Channels, value: impl Fn(usize) -> f64) {
        let at = |channel: Option<usize>| channel.map(&value);
        let z = at(channels.z).unwrap_or(0.0);
        let back = at(channels.back).unwrap_or(z);
        let alpha = at(channels.alpha).unwrap_or(1.0);
        self.0.push(Sample {
            z,
            // What ends before it begins has no extent.
            back: if back > z { back } else { z },
            alpha: if alpha > 0.0 { alpha.min(1.0) } else { 0.0 },
            values: (0..channels.kinds.len()).map(value).collect(),
        });
    }

    /// Makes samples tidy: in order, without overlaps.
    fn tidy(&mut self, channels: &Channels) {
        let order = |s: &mut Vec<Sample>| {
            s.sort_by(|a, b| a.z.total_cmp(&b.z).then(a.back.total_cmp(&b.back)));
        };
        order(&mut self.0);
        let overlap = |pair: &[Sample]| {
            let [a, b] = pair else { return false };
            b.z < a.back
        };
        if !self.0.windows(2).any(overlap) {
            return;
        }
        let mut cuts: Vec<f64> = self.0.iter().flat_map(|s| [s.z, s.back]).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let mut pieces = Vec::new();
        for sample in self.0.drain(..) {
            let mut rest = sample;
            let inside = |cut: &&f64, s: &Sample| **cut > s.z && **cut < s.back;
            for cut in &cuts {
                if !inside(&cut, &rest) {
                    continue;
                }
                let share = (cut - rest.z) / (rest.back - rest.z);
                let (before, after) = rest.split(*cut, share, channels);
                pieces.push(before);
                rest = after;
            }
            pieces.push(rest);
        }
        order(&mut pieces);
        for piece in pieces {
            match self.0.last_mut() {
                Some(last) if piece.extends() && last.z == piece.z && last.back == piece.back => {
                    last.merge(&piece, channels);
                }
                _ => self.0.push(piece),
            }
        }
    }

    /// Appends all channels of the flat pixel.
    pub(super) fn flatten(&mut self, channels: &Channels, out: &mut Vec<f64>) {
        if channels.z.is_some() {
            self.tidy(channels);
        }
        let first = out.len();
        out.resize(first + channels.kinds.len(), 0.0);
        let flat = &mut out[first..];
        let (mut clear, mut seen, mut most) = (1.0, 0.0, -1.0);
        for sample in &self.0 {
            let share = clear * sample.alpha;
            for (c, (to, v)) in flat.iter_mut().zip(&sample.values).enumerate() {
                if channels.kinds[c] == SampleType::U32 {
                    if share > most {
                        *to = *v;
                    }
                } else if channels.z == Some(c) {
                    // A mean so far, so that nothing is lost where depths are large.
                    if share > 0.0 {
                        *to += (v - *to) * share / (seen + share);
                    } else if seen == 0.0 && most < 0.0 {
                        *to = *v;
                    }
                } else if channels.alpha == Some(c) {
                    *to += share;
                } else {
                    *to += clear * v;
                }
            }
            most = f64::max(most, share);
            seen += share;
            clear *= 1.0 - sample.alpha;
            if clear <= 0.0 {
                break;
            }
        }
    }
}

impl Sample {
    fn extends(&self) -> bool {
        self.back > self.z
    }

    /// Both sides of a cut, the first of which has this share of the depth.
    fn split(self, at: f64, share: f64, channels: &Channels) -> (Self, Self) {
        let part = |share: f64| {
            // 1 - (1 - alpha)^share, exact for small alphas.
            let alpha = match self.alpha {
                a if a >= 1.0 => 1.0,
                a => -(share * (-a).ln_1p()).exp_m1(),
            };
            let by = match self.alpha {
                a if a > 0.0 => alpha / a,
                _ => share,
            };
            (alpha, by)
        };
        let side = |z: f64, back: f64, (alpha, by): (f64, f64)| Self {
            z,
            back,
            alpha,
            values: self.scaled(by, channels),
        };
        (
            side(self.z, at, part(share)),
            side(at, self.back, part(1.0 - share)),
        )
    }

    fn scaled(&self, by: f64, channels: &Channels) -> Vec<f64> {
        let all = self.values.iter().enumerate();
        let scale = |(c, v): (usize, &f64)| match channels.kinds[c] {
            SampleType::U32 => *v,
            _ if channels.z == Some(c) => *v,
            _ => v * by,
        };
        all.map(scale).collect()
    }

    /// Adds a sample of the same place: as if both were mixed.
    fn merge(&mut self, other: &Self, channels: &Channels) {
        let (a, b) = (self.alpha, other.alpha);
        let alpha = 1.0 - (1.0 - a) * (1.0 - b);
        let (by, other_by) = match (a >= 1.0, b >= 1.0) {
            (true, true) => (0.5, 0.5),
            (true, false) => (1.0, 0.0),
            (false, true) => (0.0, 1.0),
            (false, false) => {
                // Densities, relative to alphas.
                let [u, v] = [a, b].map(|alpha| -(-alpha).ln_1p());
                let dense = |u: f64, alpha: f64| if alpha > 0.0 { u / alpha } else { 1.0 };
                let whole = if u + v > 0.0 { alpha / (u + v) } else { 1.0 };
                (dense(u, a) * whole, dense(v, b) * whole)
            }
        };
        for (c, (to, from)) in self.values.iter_mut().zip(&other.values).enumerate() {
            let whole = channels.kinds[c] == SampleType::U32;
            if whole {
                if b > a {
                    *to = *from;
                }
            } else if channels.z != Some(c) {
                *to = by * *to + other_by * from;
            }
        }
        self.alpha = alpha;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A`, `R`, `Z`, `ZBack`, as files sort them.
    fn channels() -> Channels {
        Channels {
            kinds: vec![SampleType::F32; 4],
            alpha: Some(0),
            z: Some(2),
            back: Some(3),
        }
    }

    fn flat(samples: &[[f64; 4]]) -> Vec<f64> {
        let mut pixel = Pixel::default();
        for sample in samples {
            pixel.push(&channels(), |c| sample[c]);
        }
        let mut out = Vec::new();
        pixel.flatten(&channels(), &mut out);
        out
    }

    fn near(made: &[f64], wanted: &[f64]) {
        for (a, b) in made.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-12, "{made:?}, not {wanted:?}");
        }
    }

    #[test]
    fn points_are_composited_front_to_back() {
        let (far, near_) = ([1.0, 0.8, 9.0, 9.0], [0.25, 0.1, 2.0, 2.0]);
        let wanted = [1.0, 0.1 + 0.75 * 0.8, 0.25 * 2.0 + 0.75 * 9.0];
        near(&flat(&[far, near_]), &wanted);
        near(&flat(&[near_, far]), &wanted);
        near(&flat(&[near_, far, [1.0, 7.0, 10.0, 10.0]]), &wanted);
        near(&flat(&[]), &[0.0, 0.0, 0.0]);
        near(&flat(&[[0.0, 0.5, 3.0, 3.0]]), &[0.0, 0.5, 3.0]);
    }

    /// A volume is as dense as its halves, and what is inside it is seen through the half before it.
    #[test]
    fn volumes_are_split_where_others_are() {
        let fog = [0.75, 0.3, 2.0, 4.0];
        let half = [0.5, 0.3 * 0.5 / 0.75];
        let wall = [1.0, 0.6, 3.0, 3.0];
        let made = flat(&[fog, wall]);
        near(&made[..2], &[1.0, half[1] + 0.5 * 0.6]);
        let made = flat(&[fog, [0.0, 0.0, 3.0, 3.0]]);
        near(&made[..2], &fog[..2]);
    }

    /// Two volumes of one place are one of both, in any order.
    #[test]
    fn volumes_of_one_place_are_mixed() {
        let (a, b) = ([0.5, 0.4, 1.0, 2.0], [0.5, 0.1, 1.0, 2.0]);
        let made = flat(&[a, b]);
        near(&made[..2], &[0.75, 0.75 * 0.5 * (0.8 + 0.2)]);
        near(&flat(&[b, a])[..2], &made[..2]);
        // Opaque ones are seen as their mean.
        near(
            &flat(&[[1.0, 0.2, 1.0, 2.0], [1.0, 0.4, 1.0, 2.0]])[..2],
            &[1.0, 0.3],
        );
    }
}
