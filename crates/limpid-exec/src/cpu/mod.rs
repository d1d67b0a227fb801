//! Runs plans on threads, with SIMD chosen at run time.
//!
//! A pass is split into bands of rows; each band is one task. Invariants: the result does not depend on the number
//! of threads, the height of bands or the SIMD level.

mod pool;
mod runner;

pub use runner::CpuRunner;

use fearless_simd::Level;
use limpid_core::{Error, Result, simd};
use std::sync::Arc;

/// The CPU: a pool of threads and a SIMD level.
#[derive(Debug, Clone)]
pub struct Cpu {
    pub(crate) pool: Arc<pool::Pool>,
    pub(crate) level: Level,
    pub(crate) band: Option<usize>,
}

impl Cpu {
    /// All cores, or as many threads as given, at the best SIMD level of this machine. The environment variable
    /// `LIMPID_SIMD` (a name of [`Cpu::levels`]) lowers the level; it never raises it.
    pub fn new(threads: Option<usize>) -> Result<Self> {
        let levels = Self::levels();
        let level = match std::env::var("LIMPID_SIMD") {
            Ok(name) => levels
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, l)| *l)
                .ok_or_else(|| {
                    Error::unknown(
                        "SIMD level in LIMPID_SIMD",
                        &name,
                        levels.iter().map(|(n, _)| *n),
                    )
                })?,
            Err(_) => simd::best(),
        };
        Self::with_level(threads, level)
    }

    /// The CPU at a given SIMD level.
    #[doc(hidden)]
    pub fn with_level(threads: Option<usize>, level: Level) -> Result<Self> {
        Ok(Self {
            pool: Arc::new(pool::pool(threads)?),
            level,
            band: None,
        })
    }

    /// The same with bands of this many rows, for tests: the result does not depend on it.
    #[must_use]
    #[doc(hidden)]
    pub fn with_band(mut self, rows: usize) -> Self {
        self.band = Some(rows.max(1));
        self
    }

    /// The SIMD levels of this machine, by name, best first.
    #[doc(hidden)]
    pub fn levels() -> Vec<(&'static str, Level)> {
        simd::levels()
    }

    /// Name of the SIMD level in use.
    pub fn level_name(&self) -> &'static str {
        let name = |l: Level| format!("{l:?}");
        Self::levels()
            .into_iter()
            .find(|(_, l)| name(*l) == name(self.level))
            .map_or("best", |(n, _)| n)
    }

    /// Threads and SIMD level, for display.
    pub fn describe(&self) -> String {
        let threads = self.threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("{threads} thread{plural}, {}", self.level_name())
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}
