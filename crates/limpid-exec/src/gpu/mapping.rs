//! Buffers on their way to the host, and answers of the driver that are still open.
//!
//! Threads wait for them. A browser does not let its page wait: there a task is woken when they arrive.

use super::device::{Gpu, fault, locked};
use limpid_core::{DeviceFault, Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Waker};

/// Whether threads can wait for the driver.
pub(super) const WAITS: bool = !cfg!(target_family = "wasm");

/// A buffer that is being mapped.
#[derive(Debug)]
pub(super) struct Mapping {
    buffer: wgpu::Buffer,
    bytes: u64,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    result: Option<std::result::Result<(), wgpu::BufferAsyncError>>,
    waker: Option<Waker>,
}

impl Mapping {
    /// Asks for the first `bytes` of a buffer, after the work that has been submitted.
    pub(super) fn begin(buffer: &wgpu::Buffer, bytes: u64) -> Self {
        let shared = Arc::new(Shared::default());
        let told = shared.clone();
        let range = ..bytes.next_multiple_of(8).min(buffer.size());
        buffer
            .slice(range)
            .map_async(wgpu::MapMode::Read, move |result| {
                let mut state = locked(&told.state);
                state.result = Some(result);
                told.changed.notify_all();
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            });
        Self {
            buffer: buffer.clone(),
            bytes,
            shared,
        }
    }

    /// Whether it is mapped, or cannot be. If not, the task is woken when it is.
    pub(super) fn is_done(&self, context: &Context<'_>) -> bool {
        let mut state = locked(&self.shared.state);
        if state.result.is_none() {
            state.waker = Some(context.waker().clone());
        }
        state.result.is_some()
    }

    /// Passes the bytes to `read`. The device has done the work: at most, another waiting thread is about to say so.
    pub(super) fn read(&self, gpu: &Gpu, read: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
        let refused = |what: &str| {
            let what = format!("results cannot be read: {what}");
            Error::device(gpu.name(), DeviceFault::Rejected(what))
        };
        let mut state = locked(&self.shared.state);
        if WAITS && state.result.is_none() {
            let open = |state: &mut State| state.result.is_none();
            let waited = self
                .shared
                .changed
                .wait_timeout_while(state, gpu.timeout(), open);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.result.take() {
            Some(Ok(())) => match self.buffer.slice(..self.size()).get_mapped_range() {
                Ok(view) => read(&view[..self.bytes as usize]),
                Err(e) => Err(refused(&e.to_string())),
            },
            Some(Err(e)) => Err(refused(&e.to_string())),
            None => Err(refused("the driver does not answer")),
        }
    }

    fn size(&self) -> u64 {
        self.bytes.next_multiple_of(8).min(self.buffer.size())
    }
}

/// Unmaps even if the wait was cancelled, so that the next frame can use the buffer.
impl Drop for Mapping {
    fn drop(&mut self) {
        self.buffer.unmap();
    }
}

/// Error scopes that a browser has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    open: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Pending {
    /// Whether every scope is answered. If not, the task is woken when the last one is.
    pub(super) fn is_done(&self, context: &Context<'_>) -> bool {
        let done = self.open.load(Ordering::Relaxed) == 0;
        if !done {
            *locked(&self.waker) = Some(context.waker().clone());
        }
        done
    }
}

impl Gpu {
    /// The error that scopes found.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn found(&self, scopes: [wgpu::ErrorScopeGuard; 3]) -> Option<DeviceFault> {
        let mut found = None;
        for scope in scopes.into_iter().rev() {
            if let Some(error) = pollster::block_on(scope.pop()) {
                found = Some(fault(error));
            }
        }
        found
    }

    /// Nothing yet: what scopes find is reported by a later call.
    #[cfg(target_family = "wasm")]
    pub(super) fn found(&self, scopes: [wgpu::ErrorScopeGuard; 3]) -> Option<DeviceFault> {
        for scope in scopes.into_iter().rev() {
            let (answer, gpu) = (scope.pop(), self.clone());
            self.0.pending.open.fetch_add(1, Ordering::Relaxed);
            wasm_bindgen_futures::spawn_local(async move {
                if let Some(error) = answer.await {
                    gpu.report(fault(error));
                }
                let pending = &gpu.0.pending;
                if pending.open.fetch_sub(1, Ordering::Relaxed) == 1
                    && let Some(waker) = locked(&pending.waker).take()
                {
                    waker.wake();
                }
            });
        }
        None
    }
}
