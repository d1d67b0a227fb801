//! Memory: plans predict their memory, files stay within their limit, and failed allocations are errors.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[cfg(feature = "io")]
mod bombs;
mod plans;
#[cfg(feature = "io")]
mod refused;
#[expect(dead_code, reason = "only frames are needed here")]
#[path = "../support/mod.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts the allocated bytes and their peak; fails allocations on request.
struct Watched;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Allocations from this size on can fail: pixels, not small data.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Number of large allocations that succeed before one fails; `usize::MAX` for all.
static GRANTED: AtomicUsize = AtomicUsize::new(usize::MAX);

impl Watched {
    fn grants(&self, size: usize) -> bool {
        let next = |left: usize| match left {
            usize::MAX => None,
            0 => Some(usize::MAX),
            left => Some(left - 1),
        };
        let (order, large) = (Ordering::Relaxed, size >= LARGE.load(Ordering::Relaxed));
        if large && GRANTED.fetch_update(order, order, next) == Ok(0) {
            return false;
        }
        let now = NOW.fetch_add(size, Ordering::Relaxed) + size;
        PEAK.fetch_max(now, Ordering::Relaxed);
        true
    }
}

// SAFETY: every call is forwarded to the system's allocator unchanged, or fails, which is permitted.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.grants(layout.size()) {
            // SAFETY: the caller keeps the contract.
            true => unsafe { System.alloc(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.grants(layout.size()) {
            // SAFETY: the caller keeps the contract.
            true => unsafe { System.alloc_zeroed(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Tests that count run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of some work, and its peak memory beyond what was allocated before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let made = work();
    (made, PEAK.load(Ordering::Relaxed) - before)
}

/// Does some work in which the large allocation with this index fails. Returns whether there was one.
fn refusing<T>(large: usize, number: usize, work: impl FnOnce() -> T) -> (T, bool) {
    LARGE.store(large, Ordering::Relaxed);
    GRANTED.store(number, Ordering::Relaxed);
    let made = work();
    let refused = GRANTED.swap(usize::MAX, Ordering::Relaxed) == usize::MAX;
    (made, refused)
}

/// Bytes that are allocated now.
fn taken() -> usize {
    NOW.load(Ordering::Relaxed)
}
