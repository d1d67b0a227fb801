//! The copy limit: how fast memory can be read and written, which no pass can exceed.

use super::cpu::Cpu;
use crate::clock::Instant;
use limpid_core::memory::AlignedVec;
use limpid_plan::stream;
use rayon::prelude::*;
use std::time::Duration;

pub(crate) fn cpu_times(cpu: &Cpu, bytes: usize, runs: usize) -> Vec<Duration> {
    let words = (bytes / 4).max(1);
    let mut src = AlignedVec::zeros(words);
    src.iter_mut().enumerate().for_each(|(i, s)| *s = i as f32);
    let mut dst = AlignedVec::zeros(words);
    let part = words.div_ceil(4 * cpu.threads());
    // Uses the faster kind of store: non-temporal if the image does not fit the cache.
    let past_cache = bytes > stream::STREAM_BYTES;
    let mut copy = || {
        let start = Instant::now();
        cpu.pool.install(|| {
            dst.par_chunks_mut(part)
                .zip(src.par_chunks(part))
                .for_each(|(d, s)| {
                    stream::copy(s, d, past_cache);
                    stream::fence();
                });
        });
        start.elapsed()
    };
    copy();
    (0..runs.max(1)).map(|_| copy()).collect()
}
