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

/// The calling thread: WebAssembly has no others unless the page is isolated. Rayon's own pool falls back to it, too.
#[cfg(target_family = "wasm")]
#[derive(Debug)]
pub(crate) struct Pool;

#[cfg(target_family = "wasm")]
impl Pool {
    pub(crate) fn install<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) fn current_num_threads(&self) -> usize {
        1
    }
}

/// The calling thread, whatever number was given.
#[cfg(target_family = "wasm")]
pub(super) fn pool(_threads: Option<usize>) -> Result<Pool> {
    Ok(Pool)
}
