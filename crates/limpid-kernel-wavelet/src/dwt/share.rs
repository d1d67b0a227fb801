//! Work stealing: each thread starts with its own pieces, and takes from the slowest one when it is done.
//!
//! Waking a thread takes as long as half of a small image. Running threads take over the pieces that others have not started.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The remaining pieces of each thread: the next one, and the end of the range.
struct Shares(Vec<AtomicU64>);

fn packed(next: usize, end: usize) -> u64 {
    ((next as u64) << 32) | end as u64
}

fn unpacked(range: u64) -> (usize, usize) {
    ((range >> 32) as usize, (range & 0xffff_ffff) as usize)
}

impl Shares {
    /// Equal parts for all threads.
    fn new(pieces: usize, threads: usize) -> Self {
        let at = |i: usize| i * pieces / threads.max(1);
        let share = |i: usize| AtomicU64::new(packed(at(i), at(i + 1)));
        Self((0..threads.max(1)).map(share).collect())
    }

    /// The next piece for a thread: its own, or half of the pieces of the thread with the most left.
    fn next(&self, own: usize) -> Option<usize> {
        let taken = self.0[own].fetch_update(Ordering::AcqRel, Ordering::Acquire, |range| {
            let (next, end) = unpacked(range);
            (next < end).then(|| packed(next + 1, end))
        });
        if let Ok(range) = taken {
            return Some(unpacked(range).0);
        }
        loop {
            let left = |share: &&AtomicU64| {
                let (next, end) = unpacked(share.load(Ordering::Acquire));
                end - next
            };
            let most = self.0.iter().max_by_key(left)?;
            let range = most.load(Ordering::Acquire);
            let (next, end) = unpacked(range);
            if next >= end {
                return None;
            }
            let middle = next + (end - next) / 2;
            let rest = packed(next, middle);
            let swapped = most.compare_exchange(range, rest, Ordering::AcqRel, Ordering::Acquire);
            if swapped.is_ok() {
                self.0[own].store(packed(middle + 1, end), Ordering::Release);
                return Some(middle);
            }
        }
    }
}

/// Processes all pieces on the threads of the current pool, each thread with its part of the state. `body` receives whether the
/// piece continues the thread's previous one.
pub(super) fn run<T: Send>(
    pieces: Vec<T>,
    state: &mut [f32],
    threads: usize,
    body: impl Fn(T, &mut [f32], bool) + Sync,
) {
    let own = (state.len() / threads.max(1)).max(1);
    if threads <= 1 {
        for (i, piece) in pieces.into_iter().enumerate() {
            body(piece, state, i > 0);
        }
        return;
    }
    let shares = &Shares::new(pieces.len(), threads);
    let pieces: &Vec<_> = &(pieces.into_iter().map(|p| Mutex::new(Some(p)))).collect();
    let work = |thread: usize, state: &mut [f32]| {
        let mut last = None;
        while let Some(i) = shares.next(thread) {
            let piece = pieces[i].lock().map(|mut p| p.take());
            if let Ok(Some(piece)) = piece {
                body(piece, state, last.is_some_and(|l| l + 1 == i));
            }
            last = Some(i);
        }
    };
    rayon::scope(|scope| {
        for (thread, state) in state.chunks_exact_mut(own).take(threads).enumerate() {
            let work = &work;
            scope.spawn(move |_| work(thread, state));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Threads that take turns in any order get every piece once.
    #[test]
    fn every_piece_is_taken_once() {
        for (pieces, threads) in [(0, 1), (1, 3), (7, 2), (64, 5), (3, 8)] {
            for order in [1, 2, 3, 5] {
                let shares = Shares::new(pieces, threads);
                let mut taken = Vec::new();
                let mut turn = 0;
                // The first thread takes several pieces while another one takes one.
                while let Some(i) = shares.next(if turn % order == 0 { turn % threads } else { 0 })
                {
                    taken.push(i);
                    turn += 1;
                }
                taken.sort_unstable();
                assert_eq!(taken, (0..pieces).collect::<Vec<_>>(), "{threads} {order}");
            }
        }
    }

    /// A thread continues only after its own previous piece, with its own state.
    #[test]
    fn who_goes_on_finds_its_state() {
        for threads in [1, 2, 4] {
            let count = AtomicUsize::new(0);
            let mut state = vec![-1.0; threads];
            let pieces: Vec<usize> = (0..50).collect();
            run(pieces, &mut state, threads, |i, state, goes_on| {
                assert!(!goes_on || state[0] == i as f32 - 1.0);
                state[0] = i as f32;
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 50);
        }
    }
}
