//! Random numbers that are a function of seed, frame, pixel, sample and dimension.
//!
//! Nothing is carried from one sample to the next, so a picture does not depend on the number of threads, and a render
//! that is continued later is the render that was never interrupted.

use glam::Vec2;

/// The random numbers of one camera sample.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    key: u64,
    dimension: u64,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stafford's mix 13, the output function of SplitMix64: every input bit changes every output bit with odds of a half.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of sample `sample` at pixel `pixel` of frame `frame`.
    pub(crate) fn new(seed: u64, frame: u64, pixel: u64, sample: u64) -> Self {
        let mut key = mix(seed.wrapping_add(GOLDEN));
        for word in [frame, pixel, sample] {
            key = mix(key ^ mix(word.wrapping_add(GOLDEN)));
        }
        Self { key, dimension: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.dimension += 1;
        mix(self.key.wrapping_add(self.dimension.wrapping_mul(GOLDEN)))
    }

    /// The next number in 0 … 1, one excluded.
    pub(crate) fn one(&mut self) -> f32 {
        unit((self.bits() >> 40) as u32)
    }

    /// The next two numbers in 0 … 1, one excluded.
    pub(crate) fn two(&mut self) -> Vec2 {
        let bits = self.bits();
        Vec2::new(unit((bits >> 40) as u32), unit(bits as u32 & 0xFF_FFFF))
    }
}

/// 24 bits as a number below one; `f32` holds every one of them exactly.
fn unit(bits: u32) -> f32 {
    bits as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_unrelated() {
        let n = 100_000;
        let (mut sum, mut product) = (0.0_f64, 0.0_f64);
        for pixel in 0..n {
            let a = Random::new(7, 0, pixel, 3).one();
            let b = Random::new(7, 0, pixel, 4).one();
            assert!((0.0..1.0).contains(&a));
            sum += f64::from(a);
            product += (f64::from(a) - 0.5) * (f64::from(b) - 0.5);
        }
        // Standard deviations: sqrt(1/12/n) = 0.0009 and 1/12/sqrt(n) = 0.00026.
        assert!((sum / n as f64 - 0.5).abs() < 0.004);
        assert!((product / n as f64).abs() < 0.0011);
    }
}
