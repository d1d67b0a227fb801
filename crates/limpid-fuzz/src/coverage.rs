//! Which edges of the program an input reached: counters that the compiler puts there when the runner is built with
//! `-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters`, which the
//! stable toolchain has. Without them nothing is ever new.

use std::sync::{Mutex, PoisonError};

/// Address and number of the counters of each module.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Called before `main` by every module that has counters.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let mut all = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let module = (start as usize, stop as usize - start as usize);
    if module.1 > 0 && !all.contains(&module) {
        all.push(module);
    }
}

/// What all inputs reached so far.
#[derive(Debug, Default)]
pub struct Reached {
    /// For each edge, the numbers of passes that were seen, by powers of two.
    seen: Vec<u8>,
    edges: usize,
}

impl Reached {
    /// Whether there are counters at all.
    pub fn is_measured() -> bool {
        !modules().is_empty()
    }

    /// Number of edges that were reached.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// Sets all counters to zero.
    pub fn reset(&mut self) {
        for counters in modules() {
            counters.fill(0);
        }
    }

    /// Takes what was counted since the last reset. Says whether some of it is new.
    pub fn take(&mut self) -> bool {
        let mut new = false;
        let mut at = 0;
        for counters in modules() {
            self.seen
                .resize((at + counters.len()).max(self.seen.len()), 0);
            let seen = &mut self.seen[at..at + counters.len()];
            for (eight, seen) in counters.chunks(8).zip(seen.chunks_mut(8)) {
                if eight.iter().all(|c| *c == 0) {
                    continue;
                }
                for (count, seen) in eight.iter().zip(seen) {
                    let bit = match *count {
                        0 => continue,
                        count => 1 << count.ilog2(),
                    };
                    if *seen & bit == 0 {
                        self.edges += usize::from(*seen == 0);
                        *seen |= bit;
                        new = true;
                    }
                }
            }
            at += counters.len();
        }
        new
    }
}

/// The counters of all modules.
fn modules() -> Vec<&'static mut [u8]> {
    let all = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let slice = |(start, length): &(usize, usize)| {
        // SAFETY: the module says that these bytes are its counters, for as long as the program runs. They are read and written
        // only between inputs, by one thread; what other threads count meanwhile may be lost.
        unsafe { std::slice::from_raw_parts_mut(*start as *mut u8, *length) }
    };
    all.iter().map(slice).collect()
}
