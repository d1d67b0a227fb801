//! The SIMD levels that kernels are compiled for.
//!
//! Each level adds a copy of every kernel, and kernels dominate the build time. On x86-64 there are three: AVX-512 (Ice Lake
//! and later), AVX2, and the baseline, SSE2. SSE4.2 is omitted: hardly any processor has it without AVX2. Unit tests, which
//! compile all kernels a second time, use the baseline only; the conformance test runs every method at every level.

use fearless_simd::Level;

/// Runs an expression at a level: `dispatch!(level, simd => work(simd, …))`, where `work` is generic over [`fearless_simd::Simd`]
/// and always inlined.
#[cfg(target_arch = "x86_64")]
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $work:expr) => {
        match $level {
            #[cfg(not(test))]
            $crate::fearless_simd::Level::Avx512(token) => {
                let $simd = token;
                $crate::fearless_simd::Simd::vectorize(
                    token,
                    #[inline(always)]
                    || $work,
                )
            }
            #[cfg(not(test))]
            $crate::fearless_simd::Level::Avx2(token) => {
                let $simd = token;
                $crate::fearless_simd::Simd::vectorize(
                    token,
                    #[inline(always)]
                    || $work,
                )
            }
            level => match level.as_sse2() {
                Some(token) => {
                    let $simd = token;
                    $crate::fearless_simd::Simd::vectorize(
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
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $work:expr) => {
        $crate::fearless_simd::dispatch!($level, $simd => $work)
    };
}

pub use crate::dispatch;

/// The best level of this machine that kernels are compiled for.
pub fn best() -> Level {
    match Level::new() {
        #[cfg(target_arch = "x86_64")]
        Level::Sse4_2(_) => Level::baseline(),
        level => level,
    }
}

/// The SIMD levels of this machine, by name, best first.
pub fn levels() -> Vec<(&'static str, Level)> {
    let best = best();
    let mut levels = Vec::new();
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        levels.extend(best.as_avx512().map(|l| ("avx512", Level::Avx512(l))));
        levels.extend(best.as_avx2().map(|l| ("avx2", Level::Avx2(l))));
    }
    levels.push(("baseline", Level::baseline()));
    if levels.len() == 1 {
        levels.insert(0, ("best", best));
    }
    levels
}
