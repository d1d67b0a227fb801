//! The three bit streams of a code-block: magnitudes and signs from its beginning, codes of quads backwards from its end, and the run
//! lengths of the adaptive coder (MEL) between them.
//!
//! Stuffed bits are removed before a stream is read, and inserted after it was written, so that the loops in between only shift.

/// A stream without stuffed bits, from the lowest bit of the first byte.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    /// Magnitudes and signs: after a byte 0xFF, the highest bit of a byte is stuffed. Behind the end are ones.
    #[inline(always)]
    pub(super) fn magnitudes(&mut self, stuffed: &[u8]) {
        self.at = 0;
        self.bytes.clear();
        self.bytes.reserve(stuffed.len() + 32);
        let (mut held, mut count, mut after) = (0_u64, 0_u32, false);
        let mut rest = stuffed;
        loop {
            // Eight bytes at once where none is 0xFF. Fewer than eight bits are held.
            if let Some((chunk, tail)) = rest.split_first_chunk::<8>()
                && !after
                && !has_full_byte(u64::from_le_bytes(*chunk))
            {
                let word = u64::from_le_bytes(*chunk);
                self.bytes.extend((held | word << count).to_le_bytes());
                held = (word >> 1) >> (63 - count);
                rest = tail;
                continue;
            }
            let Some((&byte, tail)) = rest.split_first() else {
                break;
            };
            held |= u64::from(byte & if after { 0x7f } else { 0xff }) << count;
            count += if after { 7 } else { 8 };
            if count >= 8 {
                self.bytes.push(held as u8);
                held >>= 8;
                count -= 8;
            }
            after = byte == 0xff;
            rest = tail;
        }
        self.bytes.push((held | 0xff << count) as u8);
        self.bytes.extend([0xff; 16]);
    }

    /// Codes of quads: bytes from the end to the beginning; the lowest seven bits of a byte before a larger one than 0x8F are followed
    /// by a stuffed bit if all are set. The first four bits hold a length. Behind the end are zeros.
    pub(super) fn codes(&mut self, stuffed: &[u8]) {
        self.at = 0;
        self.bytes.clear();
        self.bytes.reserve(stuffed.len() + 32);
        let (mut held, mut count, mut after) = (0_u64, 0_u32, false);
        let mut rest = stuffed;
        for i in 0.. {
            // Eight bytes at once where the lowest seven bits of none are all set. Fewer than eight bits are held.
            if i > 1
                && let Some((head, chunk)) = rest.split_last_chunk::<8>()
                && !has_seven_bits(u64::from_be_bytes(*chunk))
            {
                let word = u64::from_be_bytes(*chunk);
                self.bytes.extend((held | word << count).to_le_bytes());
                held = (word >> 1) >> (63 - count);
                after = chunk[0] > 0x8f;
                rest = head;
                continue;
            }
            let Some((&byte, head)) = rest.split_last() else {
                break;
            };
            rest = head;
            let (value, mut bits) = match i {
                0 => continue,
                1 => (byte >> 4, 4),
                _ => (byte, 8),
            };
            let seven = if i == 1 {
                value & 7 == 7
            } else {
                after && value & 0x7f == 0x7f
            };
            bits -= u32::from(seven);
            held |= (u64::from(value) & ((1 << bits) - 1)) << count;
            count += bits;
            if count >= 8 {
                self.bytes.push(held as u8);
                held >>= 8;
                count -= 8;
            }
            after = if i == 1 { byte | 0x0f } else { byte } > 0x8f;
        }
        self.bytes.push(held as u8);
        self.bytes.extend([0; 16]);
    }

    /// The next 57 bits or more.
    #[inline(always)]
    pub(super) fn peek(&self) -> u64 {
        self.behind(0)
    }

    /// The same behind some bits.
    #[inline(always)]
    pub(super) fn behind(&self, bits: u32) -> u64 {
        let at = self.at + bits as usize;
        let byte = at >> 3;
        let word = match self.bytes.get(byte..).and_then(|b| b.first_chunk::<8>()) {
            Some(word) => u64::from_le_bytes(*word),
            // Far behind the end, in damaged data: what fills the end.
            None => self
                .bytes
                .last()
                .map_or(0, |&b| u64::from(b) * (u64::MAX / 255)),
        };
        word >> (at & 7)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, bits: u32) {
        self.at += bits as usize;
    }
}

/// The exponents of run lengths, by state.
const EXPONENTS: [u32; 13] = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5];

/// Reads events: whether a quad among insignificant ones is significant.
#[derive(Debug)]
pub(super) struct Events<'a> {
    bytes: &'a [u8],
    held: u32,
    count: u32,
    after: bool,
    state: usize,
    /// Zeros that are left of the current run.
    zeros: u32,
    /// Whether a one ends the current run.
    ends: bool,
}

impl<'a> Events<'a> {
    /// Of the bytes between magnitudes and the end; streams of events and codes may share a byte.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: &bytes[..bytes.len() - 1],
            held: 0,
            count: 0,
            after: false,
            state: 0,
            zeros: 0,
            ends: false,
        }
    }

    fn bit(&mut self) -> u32 {
        if self.count == 0 {
            let byte = match self.bytes {
                // The lower half of the last byte belongs to the length.
                [last] => {
                    self.bytes = &[];
                    last | 0x0f
                }
                [first, rest @ ..] => {
                    self.bytes = rest;
                    *first
                }
                [] => 0xff,
            };
            self.count = if self.after { 7 } else { 8 };
            self.after = byte == 0xff;
            self.held = u32::from(byte);
        }
        self.count -= 1;
        self.held >> self.count & 1
    }

    /// The next event.
    #[inline(always)]
    pub(super) fn next(&mut self) -> bool {
        if self.zeros == 0 && !self.ends {
            self.run();
        }
        if self.zeros > 0 {
            self.zeros -= 1;
            return false;
        }
        self.ends = false;
        true
    }

    #[inline(never)]
    fn run(&mut self) {
        let exponent = EXPONENTS[self.state];
        if self.bit() == 1 {
            self.state = (self.state + 1).min(12);
            self.zeros = 1 << exponent;
        } else {
            self.zeros = (0..exponent).fold(0, |run, _| run << 1 | self.bit());
            self.state = self.state.saturating_sub(1);
            self.ends = true;
        }
    }
}

/// Bits from the lowest of the first byte.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Writer {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.held, self.count) = (0, 0);
    }

    /// Appends up to 56 bits; `value` has no others.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        if self.count >= 64 {
            self.bytes.extend_from_slice(&self.held.to_le_bytes());
            self.count -= 64;
            self.held = value >> (bits - self.count);
        }
    }

    /// The bits, padded with zeros for reading, and their number.
    fn finish(&mut self) -> (&[u8], usize) {
        let bits = 8 * self.bytes.len() + self.count as usize;
        self.bytes.extend(self.held.to_le_bytes());
        self.bytes.extend([0; 8]);
        (&self.bytes, bits)
    }

    /// The bytes of magnitudes and signs. Missing bits are ones, and a last byte 0xFF is left out.
    pub(super) fn magnitudes(&mut self, out: &mut Vec<u8>) {
        let (bytes, bits) = self.finish();
        let (mut at, mut after) = (0, false);
        while at < bits {
            let word = word(bytes, at);
            if !after && at + 64 <= bits {
                // 56 bits at once where no byte is 0xFF.
                if !has_full_byte(word & (u64::MAX >> 8)) {
                    out.extend_from_slice(&word.to_le_bytes()[..7]);
                    at += 56;
                    continue;
                }
            }
            let room = if after { 7 } else { 8 };
            let missing = 0xff_u64.checked_shl((bits - at) as u32).unwrap_or(0);
            let byte = ((word | missing) & ((1 << room) - 1)) as u8;
            at += room;
            out.push(byte);
            after = byte == 0xff;
        }
        if after {
            out.pop();
        }
    }
}

/// Whether one of the bytes is 0xFF.
#[inline(always)]
fn has_full_byte(word: u64) -> bool {
    (!word).wrapping_sub(u64::MAX / 255) & word & (u64::MAX / 255 * 0x80) != 0
}

/// Whether the lowest seven bits of one of the bytes are all set.
#[inline(always)]
fn has_seven_bits(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    ((word & (0x7f * ONES)) + ONES) & (0x80 * ONES) != 0
}

fn word(bytes: &[u8], bit: usize) -> u64 {
    let chunk = bytes.get(bit >> 3..).and_then(|b| b.first_chunk::<8>());
    chunk.map_or(0, |c| u64::from_le_bytes(*c)) >> (bit & 7)
}

/// Writes events.
#[derive(Debug, Default)]
pub(super) struct EventWriter {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
    state: usize,
    run: u32,
}

impl EventWriter {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.held, self.count, self.state, self.run) = (0, 0, 0, 0);
    }

    /// Bits that fit into the byte being written.
    fn room(&self) -> u32 {
        if self.bytes.last() == Some(&0xff) {
            7
        } else {
            8
        }
    }

    fn bit(&mut self, bit: u32) {
        self.held = self.held << 1 | bit;
        self.count += 1;
        if self.count == self.room() {
            self.bytes.push(self.held as u8);
            (self.held, self.count) = (0, 0);
        }
    }

    #[inline(always)]
    pub(super) fn put(&mut self, event: bool) {
        let exponent = EXPONENTS[self.state];
        if event {
            self.bit(0);
            for i in (0..exponent).rev() {
                self.bit(self.run >> i & 1);
            }
            self.state = self.state.saturating_sub(1);
            self.run = 0;
        } else {
            self.run += 1;
            if self.run == 1 << exponent {
                self.bit(1);
                self.state = (self.state + 1).min(12);
                self.run = 0;
            }
        }
    }

    /// Appends events, codes and their length. Both may share one byte in the middle.
    pub(super) fn join(&mut self, codes: &mut Writer, out: &mut Vec<u8>) {
        if self.run > 0 {
            self.bit(1);
        }
        let begin = out.len();
        let (back, last, used) = reversed(codes);
        let room = self.room();
        let event = (self.held << (room - self.count)) as u8;
        let mask = (0xff_u32 << (room - self.count)) as u8;
        let code_mask = ((1_u32 << used) - 1) as u8;
        out.extend_from_slice(&self.bytes);
        let both = event | last;
        if mask != 0 || code_mask != 0 {
            let fits = (both ^ event) & mask == 0 && (both ^ last) & code_mask == 0;
            if fits && both != 0xff && back.len() > 1 {
                out.push(both);
            } else {
                out.push(event);
                out.push(last);
            }
        }
        out.extend(back.iter().rev());
        let length = out.len() - begin;
        let end = out.len();
        out[end - 1] = (length >> 4) as u8;
        out[end - 2] = out[end - 2] & 0xf0 | (length & 15) as u8;
    }
}

/// The bytes of codes from the end of a block, the last byte that is not complete, and how many of its bits are used.
fn reversed(codes: &mut Writer) -> (Vec<u8>, u8, u32) {
    let (bytes, bits) = codes.finish();
    // The length comes last, its lower half in the byte before.
    let mut back = vec![0xff];
    let (mut at, mut held, mut used, mut after) = (0, 0x0f_u32, 4_u32, true);
    while at < bits {
        if used == 0 && at + 64 <= bits {
            // 56 bits at once where nothing is stuffed.
            let word = word(bytes, at) & (u64::MAX >> 8);
            if !has_seven_bits(word) {
                back.extend_from_slice(&word.to_le_bytes()[..7]);
                after = word >> 48 > 0x8f;
                at += 56;
                continue;
            }
        }
        let take = (8 - u32::from(after) - used).min((bits - at) as u32);
        held |= (word(bytes, at) as u32 & ((1 << take) - 1)) << used;
        used += take;
        at += take as usize;
        if used < 8 - u32::from(after) {
            break;
        }
        if after && held != 0x7f {
            // One bit is left.
            after = false;
            continue;
        }
        back.push(held as u8);
        after = held > 0x8f;
        (held, used) = (0, 0);
    }
    (back, held as u8, used)
}
