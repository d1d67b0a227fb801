//! Non-temporal copies, which bypass the cache.

use fearless_simd::{Simd, SimdBase};

/// Images larger than this are written with non-temporal stores: a plain store first reads the cache line it writes, a
/// non-temporal store does not.
pub const STREAM_BYTES: usize = 4 << 20;

/// Copies a row, with non-temporal stores if requested.
#[inline]
pub fn copy(from: &[f32], to: &mut [f32], past_cache: bool) {
    #[cfg(target_arch = "x86_64")]
    if past_cache {
        return x86::stream(from, to);
    }
    let _ = past_cache;
    to.copy_from_slice(&from[..to.len()]);
}

/// Stores a vector, non-temporally if requested and the address is aligned.
#[inline(always)]
pub fn store<S: Simd>(simd: S, v: S::f32s, to: &mut [f32], past_cache: bool) {
    #[cfg(target_arch = "x86_64")]
    if past_cache && x86::store(simd, v, to) {
        return;
    }
    let _ = (simd, past_cache);
    v.store_slice(to);
}

/// Prefetches the cache line of a value that will soon be read or written.
///
/// Hardware prefetchers detect long runs only; a row of a small image, or of a strip, ends before they do.
#[inline(always)]
pub fn prefetch<const WRITTEN: bool>(data: &[f32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = data.get(at) {
        x86::prefetch::<WRITTEN>(value);
    }
    let _ = (data, at);
}

/// Waits until non-temporal stores are visible to other threads.
#[inline]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    x86::fence();
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use fearless_simd::{Simd, SimdBase};
    use std::arch::x86_64::*;

    /// Floats in a cache line.
    const LINE: usize = 16;

    pub(super) fn fence() {
        // SAFETY: sfence is part of SSE, which every x86-64 processor has.
        unsafe { _mm_sfence() }
    }

    #[inline(always)]
    pub(super) fn prefetch<const WRITTEN: bool>(value: &f32) {
        let at = std::ptr::from_ref(value).cast();
        // SAFETY: a hint without effect on the program, at a readable address. Every processor supports the one for reading;
        // those without the one for writing ignore it.
        unsafe {
            if WRITTEN {
                _mm_prefetch::<_MM_HINT_ET0>(at);
            } else {
                _mm_prefetch::<_MM_HINT_T0>(at);
            }
        }
    }

    /// Stores a vector non-temporally. Returns whether that was possible.
    #[inline(always)]
    pub(super) fn store<S: Simd>(simd: S, v: S::f32s, to: &mut [f32]) -> bool {
        let lanes = S::f32s::LEN;
        let aligned = (to.as_ptr() as usize).is_multiple_of(4 * lanes);
        if !aligned || to.len() < lanes || lanes > LINE {
            return false;
        }
        let mut words = [0.0; LINE];
        v.store_slice(&mut words[..lanes]);
        let (from, to) = (words.as_ptr(), to.as_mut_ptr());
        if lanes == LINE && simd.level().as_avx512().is_some() {
            // SAFETY: 16 floats follow both pointers, `to` is aligned to 64 bytes, and this code runs with AVX-512.
            unsafe { _mm512_stream_ps(to.cast(), _mm512_loadu_ps(from)) };
        } else {
            for i in 0..lanes / 4 {
                // SAFETY: `lanes` floats follow both pointers, `to` is aligned to 16 bytes, and SSE is part of x86-64.
                unsafe { _mm_stream_ps(to.add(4 * i), _mm_loadu_ps(from.add(4 * i))) };
            }
        }
        true
    }

    pub(super) fn stream(from: &[f32], to: &mut [f32]) {
        let from = &from[..to.len()];
        let head = to.as_ptr().align_offset(4 * LINE).min(to.len());
        let body = (to.len() - head) / LINE * LINE;
        to[..head].copy_from_slice(&from[..head]);
        lines(&from[head..head + body], &mut to[head..head + body]);
        to[head + body..].copy_from_slice(&from[head + body..]);
    }

    /// Copies whole, aligned cache lines.
    fn lines(from: &[f32], to: &mut [f32]) {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { wide(from, to) };
        }
        for (from, to) in from.chunks_exact(LINE).zip(to.chunks_exact_mut(LINE)) {
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            // SAFETY: both chunks hold 16 floats; `to` is aligned to 64 bytes, since the caller cut the head off and chunks
            // are 64 bytes long; SSE is part of x86-64.
            unsafe {
                for i in [0, 4, 8, 12] {
                    _mm_stream_ps(to.add(i), _mm_loadu_ps(from.add(i)));
                }
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    fn wide(from: &[f32], to: &mut [f32]) {
        // Indexed loop: iterator adapters are not inlined into code for other SIMD levels.
        for i in 0..from.len().min(to.len()) / LINE {
            let (from, to) = (from[LINE * i..].as_ptr(), to[LINE * i..].as_mut_ptr());
            // SAFETY: 16 floats follow both pointers, and `to` is aligned to 64 bytes as above.
            unsafe { _mm512_stream_ps(to.cast(), _mm512_loadu_ps(from)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_is_copied() {
        let from: Vec<f32> = (0..200).map(|i| i as f32).collect();
        for start in 0..20 {
            for len in [0, 1, 15, 16, 17, 64, 100] {
                let mut to = vec![-1.0; 200];
                copy(&from[3..], &mut to[start..start + len], true);
                fence();
                assert_eq!(to[start..start + len], from[3..3 + len]);
                assert!(
                    to[..start]
                        .iter()
                        .chain(&to[start + len..])
                        .all(|v| *v == -1.0)
                );
            }
        }
    }
}
