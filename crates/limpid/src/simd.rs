//! The SIMD levels that kernels are compiled for.
//!
//! Each level adds a copy of every kernel, and kernels dominate the build time. On x86-64 there are three: AVX-512 (Ice Lake
//! and later), AVX2, and the baseline, SSE2. SSE4.2 is omitted: hardly any processor has it without AVX2. Unit tests, which
//! compile all kernels a second time, use the baseline only; the conformance test runs every method at every level.

use fearless_simd::Level;

/// Runs an expression at a level: `dispatch!(level, simd => work(simd, …))`, where `work` is generic over [`fearless_simd::Simd`]
/// and always inlined.
#[cfg(target_arch = "x86_64")]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $work:expr) => {
        match $level {
            #[cfg(not(test))]
            fearless_simd::Level::Avx512(token) => {
                let $simd = token;
                fearless_simd::Simd::vectorize(
                    token,
                    #[inline(always)]
                    || $work,
                )
            }
            #[cfg(not(test))]
            fearless_simd::Level::Avx2(token) => {
                let $simd = token;
                fearless_simd::Simd::vectorize(
                    token,
                    #[inline(always)]
                    || $work,
                )
            }
            level => match level.as_sse2() {
                Some(token) => {
                    let $simd = token;
                    fearless_simd::Simd::vectorize(
                        token,
                        #[inline(always)]
                        || $work,
                    )
                }
                None => unreachable!("every x86-64 processor has SSE2"),
            },
        }
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $work:expr) => {
        fearless_simd::dispatch!($level, $simd => $work)
    };
}

pub(crate) use dispatch;

/// The best level of this machine that kernels are compiled for.
pub(crate) fn best() -> Level {
    match Level::new() {
        #[cfg(target_arch = "x86_64")]
        Level::Sse4_2(_) => Level::baseline(),
        level => level,
    }
}
