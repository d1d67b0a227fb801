//! Progress and cancellation.

use limpid_core::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Observes long work: receives its progress and can cancel it.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_exec::*; pub mod exec { pub use limpid_exec::*; } }
/// use limpid::Watch;
/// use std::sync::atomic::Ordering;
/// let watch = Watch::default();
/// assert!(watch.check().is_ok());
/// watch.stop_flag().store(true, Ordering::Relaxed);
/// assert!(matches!(watch.check(), Err(limpid::Error::Stopped)));
/// ```
#[derive(Clone, Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    tell: Option<Arc<dyn Fn(f32) + Send + Sync>>,
}

impl Watch {
    /// A watch that receives the completed share, 0 … 1, from any thread.
    pub fn with_callback(tell: impl Fn(f32) + Send + Sync + 'static) -> Self {
        Self {
            stop: Arc::default(),
            tell: Some(Arc::new(tell)),
        }
    }

    /// The watch with a different flag, for example one that Ctrl-C sets.
    #[must_use]
    pub fn with_flag(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// The flag that stops the work when set.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// [`Error::Stopped`] once the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.stopped() {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }

    /// Whether the flag is set.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reports the progress.
    pub fn done(&self, share: f32) {
        if let Some(tell) = &self.tell {
            tell(share);
        }
    }

    /// A watch for a part of the work, from share `from` to share `to`, with the same flag.
    pub fn for_part(&self, from: f32, to: f32) -> Self {
        let tell = self
            .tell
            .clone()
            .map(|tell| -> Arc<dyn Fn(f32) + Send + Sync> {
                Arc::new(move |share| tell(from + (to - from) * share))
            });
        Self {
            stop: self.stop.clone(),
            tell,
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("stopped", &self.stopped())
            .finish_non_exhaustive()
    }
}
