//! Liftings with few taps, for the streaming implementation.

use super::pieces::sizes;
use limpid_core::Size;
use limpid_wavelet::{Lifting, Normalisation, Pair, Taps as Filter};

/// A lifting with few taps, in `f32`: the input of the fast path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Streamed {
    pub(super) taps: Taps,
    /// Final scale factors of low and high samples.
    pub(super) scales: [f32; 2],
}

/// Its steps, alternating between predict and update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Taps {
    /// One pair whose steps have two taps.
    OnePair([f32; 4]),
    /// The same with equal taps, which preserve the symmetry of a mirrored signal.
    OnePairMirrored([f32; 4]),
    /// Two pairs of that kind.
    TwoPairsMirrored([[f32; 4]; 2]),
    /// One pair whose steps have four taps: the inner and the outer one of predict, and of update.
    OneWidePair([f32; 2], [f32; 2]),
}

impl Streamed {
    /// The steps of a lifting, if supported: one or two pairs of steps with two equal taps, or one pair with two pairs of equal
    /// taps, as in symmetric wavelets; or one pair that reads no other pair (Haar).
    pub(super) fn new(lifting: &Lifting, normalisation: Normalisation) -> Option<Self> {
        let (fl, fh) = normalisation.factors();
        let scales = [
            (lifting.low_scale * fl) as f32,
            (lifting.high_scale * fh) as f32,
        ];
        let two = |p: &Pair| {
            let ([a, b], [c, d]) = (taps(&p.predict, 0)?, taps(&p.update, -1)?);
            Some([a, b, c, d])
        };
        let equal = |[a, b, c, d]: [f32; 4]| a == b && c == d;
        let pairs: Option<Vec<[f32; 4]>> = lifting.pairs.iter().map(two).collect();
        let taps = match (pairs.as_deref(), &lifting.pairs[..]) {
            (Some(&[one]), _) if equal(one) => Taps::OnePairMirrored(one),
            (Some(&[one @ [_, 0.0, 0.0, _]]), _) => Taps::OnePair(one),
            (Some(&[first, second]), _) if equal(first) && equal(second) => {
                Taps::TwoPairsMirrored([first, second])
            }
            (None, [pair]) => {
                let twice = |[a, b, c, d]: [f32; 4]| (a == d && b == c).then_some([b, a]);
                let predict = twice(taps(&pair.predict, -1)?)?;
                Taps::OneWidePair(predict, twice(taps(&pair.update, -2)?)?)
            }
            _ => return None,
        };
        Some(Self { taps, scales })
    }

    /// Whether images of this size can be transformed. Steps with equal taps preserve the symmetry of a mirrored signal; others
    /// need an even number of samples at every level.
    pub(super) fn takes(&self, size: Size, levels: usize) -> bool {
        let even = |s: &Size| s.width.is_multiple_of(2) && s.height.is_multiple_of(2);
        !matches!(self.taps, Taps::OnePair(_)) || sizes(size, levels).iter().all(even)
    }
}

/// The taps of a step starting at `first`, if there are no others.
fn taps<const N: usize>(all: &Filter, first: i32) -> Option<[f32; N]> {
    let mut taps = [0.0; N];
    for (k, v) in all.iter().filter(|(_, v)| *v != 0.0) {
        *taps.get_mut(usize::try_from(k - first).ok()?)? = v as f32;
    }
    Some(taps)
}
