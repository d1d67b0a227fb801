//! Memory for pixels that starts at a cache line: vectors of 64 bytes then occupy one line each, if rows are multiples of
//! that.

/// A number of bytes, formatted for messages.
pub(crate) fn in_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Numbers that start at a cache line.
#[derive(Debug, Default)]
pub(crate) struct AlignedVec {
    words: Vec<f32>,
    start: usize,
    len: usize,
}

impl AlignedVec {
    /// Zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let words = vec![0.0; len + LINE / size_of::<f32>()];
        let start = words.as_ptr().align_offset(LINE).min(words.len() - len);
        Self { words, start, len }
    }

    /// The same numbers without the gap before them.
    pub(crate) fn into_vec(mut self) -> Vec<f32> {
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
