//! How a TIFF file stores numbers.

/// How numbers are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    little: bool,
    /// Positions of 64 bits.
    pub(crate) big: bool,
}

impl Numbers {
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let form = |little, big| Some(Self { little, big });
        match bytes.get(..4)? {
            b"II*\0" => form(true, false),
            b"MM\0*" => form(false, false),
            b"II+\0" => form(true, true),
            b"MM\0+" => form(false, true),
            _ => None,
        }
    }

    /// Bytes of a position, and of the value in an entry. The position of the first directory stands there, too.
    pub(crate) fn word(self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// Bytes of the number of entries.
    pub(crate) fn head(self) -> usize {
        if self.big { 8 } else { 2 }
    }

    /// Bytes of an entry.
    pub(crate) fn entry(self) -> usize {
        4 + 2 * self.word()
    }

    pub(crate) fn number(self, bytes: &[u8], at: usize, length: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.little {
            true => bytes.iter().rev().fold(0, push),
            false => bytes.iter().fold(0, push),
        })
    }

    pub(crate) fn set(self, bytes: &mut [u8], at: usize, length: usize, value: u64) {
        let number = value.to_le_bytes();
        for (i, byte) in bytes.iter_mut().skip(at).take(length).enumerate() {
            *byte = number[if self.little { i } else { length - 1 - i }];
        }
    }

    /// Where the position of the next directory is.
    pub(crate) fn next(self, bytes: &[u8], directory: usize) -> Option<usize> {
        let head = self.head();
        let entries = usize::try_from(self.number(bytes, directory, head)?).ok()?;
        let length = head.checked_add(entries.checked_mul(self.entry())?)?;
        directory.checked_add(length)
    }
}
