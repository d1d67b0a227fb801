//! The product on processors with the first AVX-512 instructions only, from Skylake to Cascade Lake: kernels are compiled for those of
//! Ice Lake, and without this such processors would run them as AVX2. About half of a network's time is spent in products.

use super::OUTS;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m512, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};

/// Values of a vector.
pub(super) const LANES: usize = 16;

/// Vectors that are multiplied together: with these, sums, values and a weight fit into 32 registers.
const WIDE: usize = 3;

/// Whether this processor has these instructions.
pub(super) fn there() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// The products of [`super::product::products`], of rows of whole vectors. Returns whether they were made.
pub(super) fn products(
    seen: &[f32],
    table: (&[f32], &[f32]),
    width: usize,
    made: &mut [f32],
) -> bool {
    let fits = there() && width.is_multiple_of(LANES);
    if fits {
        // SAFETY: the processor has AVX-512F.
        unsafe { blocks(seen, table, width, made) };
    }
    fits
}

#[target_feature(enable = "avx512f")]
fn blocks(seen: &[f32], (biases, weights): (&[f32], &[f32]), width: usize, made: &mut [f32]) {
    let wide = width / (WIDE * LANES) * (WIDE * LANES);
    let blocks = weights.chunks_exact(seen.len() / width * OUTS);
    let outputs = made.chunks_exact_mut(OUTS * width);
    let biases = biases.as_chunks().0;
    for ((weights, biases), made) in blocks.zip(biases).zip(outputs) {
        let table = (biases, weights.as_chunks().0);
        for x in (0..wide).step_by(WIDE * LANES) {
            sums::<WIDE>((seen, x), table, width, made);
        }
        for x in (wide..width).step_by(LANES) {
            sums::<1>((seen, x), table, width, made);
        }
    }
}

/// Eight outputs for some vectors.
#[target_feature(enable = "avx512f")]
#[inline]
fn sums<const V: usize>(
    (seen, x): (&[f32], usize),
    (biases, weights): (&[f32; OUTS], &[[f32; OUTS]]),
    width: usize,
    made: &mut [f32],
) {
    let mut sums = [[_mm512_setzero_ps(); V]; OUTS];
    for (sums, bias) in sums.iter_mut().zip(biases) {
        *sums = [_mm512_set1_ps(*bias); V];
    }
    for (seen, weights) in seen.chunks_exact(width).zip(weights) {
        let line = &seen[x..][..V * LANES];
        let mut values: [__m512; V] = [_mm512_setzero_ps(); V];
        for (value, part) in values.iter_mut().zip(line.as_chunks::<LANES>().0) {
            // SAFETY: 16 values are read from as many.
            *value = unsafe { _mm512_loadu_ps(part.as_ptr()) };
        }
        for (sums, weight) in sums.iter_mut().zip(weights) {
            let weight = _mm512_set1_ps(*weight);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = _mm512_fmadd_ps(value, weight, *sum);
            }
        }
    }
    for (made, sums) in made.chunks_exact_mut(width).zip(&sums) {
        let line = &mut made[x..][..V * LANES];
        for (to, sum) in line.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
            // SAFETY: 16 values are written to as many.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), *sum) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same sums in the same order: no bit differs.
    #[test]
    fn products_are_those_of_single_numbers() {
        let (inputs, outputs, width) = (5, 2 * OUTS, 5 * LANES);
        let mut state = 1u32;
        let mut some = |count: usize| -> Vec<f32> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 23) as f32 - 1.0
            };
            (0..count).map(|_| next()).collect()
        };
        let (seen, biases) = (some(inputs * width), some(outputs));
        let weights = some(inputs * outputs);
        let mut made = vec![0.0; outputs * width];
        if !products(&seen, (&biases, &weights), width, &mut made) {
            assert!(!there(), "rows of whole vectors fit");
            return;
        }
        for output in 0..outputs {
            for x in 0..width {
                let mut sum = biases[output];
                for input in 0..inputs {
                    let at = (output / OUTS * inputs + input) * OUTS + output % OUTS;
                    sum = seen[input * width + x].mul_add(weights[at], sum);
                }
                assert_eq!(made[output * width + x], sum, "{output} {x}");
            }
        }
        let odd = LANES + 1;
        assert!(!products(
            &seen[..inputs * odd],
            (&biases, &weights),
            odd,
            &mut made
        ));
    }
}
