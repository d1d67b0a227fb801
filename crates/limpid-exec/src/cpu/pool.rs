//! The threads that a CPU device works on.

use limpid_core::Result;
#[cfg(not(target_family = "wasm"))]
pub(crate) use rayon::ThreadPool as Pool;

/// All cores, or as many threads as given.
#[cfg(not(target_family = "wasm"))]
pub(super) fn pool(threads: Option<usize>) -> Result<Pool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .thread_name(|i| format!("limpid-{i}"))
        .build()
        .map_err(|e| {
            limpid_core::Error::unsupported(format!("cannot start {threads:?} threads: {e}"))
        })
}

/// In WebAssembly, the pool of the calling thread: who has started threads runs plans on one of them. Elsewhere it is the calling thread
/// alone, as for Rayon's own pool.
#[cfg(target_family = "wasm")]
#[derive(Debug)]
pub(crate) struct Pool {
    threads: usize,
}

#[cfg(target_family = "wasm")]
impl Pool {
    pub(crate) fn install<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) fn current_num_threads(&self) -> usize {
        self.threads
    }
}

/// As many threads as the caller has, which is one without atomic instructions.
#[cfg(target_family = "wasm")]
pub(super) fn pool(threads: Option<usize>) -> Result<Pool> {
    let threads = match cfg!(target_feature = "atomics") {
        true => threads.unwrap_or(1).max(1),
        false => 1,
    };
    Ok(Pool { threads })
}
