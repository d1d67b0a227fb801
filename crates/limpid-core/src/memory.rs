//! Memory for pixels:
//!
//! - Allocations start at a cache line, so that each vector of 64 bytes lies within one line if rows are multiples of that.
//! - An allocation that fails is an error and does not abort the program. [`zeroed`] and [`AlignedVec::try_zeros`] return the
//!   error; images, which are also created in functions that return no `Result`, panic with a payload, [`OutOfMemory`], that [`caught`] turns into the
//!   error. All calls that take frames or read files go through [`caught`].

use crate::{DeviceFault, Error, Result};
use bytemuck::Zeroable;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A number of bytes, formatted for messages.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// The payload of the panic of an image that cannot be allocated. A panic hook can look for it, to leave out the message: the
/// library turns the panic into an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// Bytes that the system refused.
    pub bytes: usize,
}

/// The error for a failed allocation.
fn refused(bytes: usize) -> Error {
    let what = format!(
        "The system refused {} for pixels; smaller tiles or images need less",
        in_words(bytes as u64)
    );
    Error::device("this machine", DeviceFault::OutOfMemory(what))
}

/// Zeros, or an error if memory is exhausted.
pub fn zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>> {
    let made = bytemuck::allocation::try_zeroed_vec(len);
    made.map_err(|()| refused(len.saturating_mul(size_of::<T>())))
}

/// The `len` values of an iterator, or an error if memory is exhausted.
pub fn collected<T>(len: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, len)?;
    all.extend(values.take(len));
    Ok(all)
}

/// Zeros, for functions that return no `Result`: panics like images if memory is exhausted.
pub fn zeros<T: Zeroable>(len: usize) -> Vec<T> {
    zeroed(len).unwrap_or_else(|_| refuse(len.saturating_mul(size_of::<T>())))
}

/// A copy, for functions that return no `Result`.
pub fn copied(values: &[f32]) -> Vec<f32> {
    gathered(values.len(), values.iter().copied())
}

/// At most `len` values of an iterator, for functions that return no `Result`.
pub fn gathered<T>(len: usize, values: impl Iterator<Item = T>) -> Vec<T> {
    collected(len, values).unwrap_or_else(|_| refuse(len.saturating_mul(size_of::<T>())))
}

fn refuse(bytes: usize) -> ! {
    std::panic::panic_any(OutOfMemory { bytes })
}

/// Reserves room for more values, or returns an error if memory is exhausted.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let made = values.try_reserve_exact(more);
    made.map_err(|_| refused(more.saturating_mul(size_of::<T>())))
}

/// Whether this much memory can be allocated now, to fail before the work instead of during it.
pub fn check(bytes: u64) -> Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    reserve(&mut Vec::<u8>::new(), bytes)
}

/// Runs `work` and turns the panic of an image that cannot be allocated into an error. Other panics are propagated.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| match refusal(&*panic) {
        Some(error) => Err(error),
        None => resume_unwind(panic),
    })
}

/// The error of a panic, if it is that of an image that cannot be allocated.
pub fn refusal(panic: &(dyn std::any::Any + Send)) -> Option<Error> {
    let found = panic.downcast_ref::<OutOfMemory>()?;
    Some(refused(found.bytes))
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// A vector of `f32` that starts at a cache line.
#[derive(Debug, Default)]
pub struct AlignedVec {
    words: Vec<f32>,
    start: usize,
    len: usize,
}

impl AlignedVec {
    /// Zeros. Panics if memory is exhausted; [`caught`] turns the panic into an error.
    pub fn zeros(len: usize) -> Self {
        Self::try_zeros(len).unwrap_or_else(|_| refuse(len.saturating_mul(size_of::<f32>())))
    }

    /// Zeros, or an error if memory is exhausted.
    pub fn try_zeros(len: usize) -> Result<Self> {
        let words: Vec<f32> = zeroed(len.saturating_add(LINE / size_of::<f32>()))?;
        let start = words.as_ptr().align_offset(LINE).min(words.len() - len);
        Ok(Self { words, start, len })
    }

    /// The same values without the padding before them.
    pub fn into_vec(mut self) -> Vec<f32> {
        self.words.copy_within(self.start..self.start + self.len, 0);
        self.words.truncate(self.len);
        self.words
    }
}

impl From<Vec<f32>> for AlignedVec {
    /// Takes ownership of memory, whatever its alignment.
    fn from(words: Vec<f32>) -> Self {
        let len = words.len();
        Self {
            words,
            start: 0,
            len,
        }
    }
}

impl std::ops::Deref for AlignedVec {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &self.words[self.start..][..self.len]
    }
}

impl std::ops::DerefMut for AlignedVec {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.words[self.start..][..self.len]
    }
}

impl Clone for AlignedVec {
    fn clone(&self) -> Self {
        let mut made = Self::zeros(self.len);
        made.copy_from_slice(self);
        made
    }
}

impl PartialEq for AlignedVec {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In WebAssembly a panic is the end.
    #[cfg(not(target_family = "wasm"))]
    #[test]
    fn memory_that_is_refused_is_an_error() {
        let most = usize::MAX >> 8;
        let told = |error: Error| error.to_string();
        assert!(told(zeroed::<f32>(most).unwrap_err()).contains("refused"));
        assert!(told(collected(most, std::iter::repeat(0_u8)).unwrap_err()).contains("refused"));
        let error = caught(|| Ok(AlignedVec::zeros(most).len())).unwrap_err();
        let is_memory = |e: &Error| matches!(e, Error::Device { fault, .. } if matches!(fault, DeviceFault::OutOfMemory(_)));
        assert!(is_memory(&error), "{error}");
        let other = catch_unwind(|| caught(|| -> Result<()> { panic!("another reason") }));
        assert!(other.is_err());
    }

    #[test]
    fn memory_begins_with_a_cache_line() {
        for len in [0, 1, 15, 16, 1000] {
            let mut memory = AlignedVec::zeros(len);
            assert_eq!(memory.as_ptr() as usize % LINE, 0);
            assert_eq!(memory.len(), len);
            for (i, v) in memory.iter_mut().enumerate() {
                *v = i as f32;
            }
            let copy = memory.clone();
            assert_eq!(copy.as_ptr() as usize % LINE, 0);
            assert_eq!(copy, memory);
            let plain = memory.into_vec();
            assert!(plain.iter().enumerate().all(|(i, v)| *v == i as f32));
            assert_eq!(AlignedVec::from(plain), copy);
        }
    }
}
