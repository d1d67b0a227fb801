//! The headers of packets, which say where the bytes of each code-block are (ITU-T T.800, annex B.10).

use super::layout::{Packet, Part};
use super::{Damage, Fault};
use std::ops::Range;

/// Where the bytes of a block are, and how many of its bit planes are missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Coded {
    pub(super) range: Range<usize>,
    pub(super) missing: u32,
}

/// A tree that tells numbers by their minima over squares of 2×2.
struct Tree {
    /// Width of each level, and where it begins; the leaves are first.
    levels: Vec<(usize, usize)>,
    values: Vec<u32>,
    /// What is known: values are at least this.
    low: Vec<u32>,
    known: Vec<bool>,
}

impl Tree {
    fn new(across: usize, down: usize) -> Self {
        let (mut levels, mut count, mut size) = (Vec::new(), 0, (across.max(1), down.max(1)));
        loop {
            levels.push((size.0, count));
            count += size.0 * size.1;
            if size == (1, 1) {
                break;
            }
            size = (size.0.div_ceil(2), size.1.div_ceil(2));
        }
        Self {
            levels,
            values: vec![0; count],
            low: vec![0; count],
            known: vec![false; count],
        }
    }

    /// A tree of known leaves.
    fn of(across: usize, down: usize, leaves: impl Iterator<Item = u32>) -> Self {
        let mut tree = Self::new(across, down);
        tree.values.fill(u32::MAX);
        for (i, value) in leaves.enumerate() {
            for &(at, _) in &tree.path(i) {
                tree.values[at] = tree.values[at].min(value);
            }
        }
        tree
    }

    /// The nodes from a leaf to the root, with their levels.
    fn path(&self, leaf: usize) -> Vec<(usize, usize)> {
        let across = self.levels[0].0;
        let (x, y) = (leaf % across, leaf / across);
        let node = |(level, (width, begin)): (usize, &(usize, usize))| {
            (begin + (y >> level) * width + (x >> level), level)
        };
        self.levels.iter().enumerate().map(node).collect()
    }

    /// Reads whether a leaf is below a number.
    fn below(
        &mut self,
        leaf: usize,
        number: u32,
        bits: &mut BitReader<'_>,
    ) -> Result<bool, Damage> {
        let mut low = 0;
        let mut found = false;
        for (at, _) in self.path(leaf).into_iter().rev() {
            low = self.low[at].max(low);
            while low < number && !self.known[at] {
                if bits.bit()? {
                    (self.known[at], self.values[at]) = (true, low);
                } else {
                    low += 1;
                }
            }
            if self.known[at] {
                low = self.values[at].max(low);
            }
            self.low[at] = low;
            found = self.known[at] && self.values[at] < number;
        }
        Ok(found)
    }

    /// Writes whether a leaf is below a number.
    fn tell(&mut self, leaf: usize, number: u32, bits: &mut BitWriter) {
        let mut low = 0;
        for (at, _) in self.path(leaf).into_iter().rev() {
            low = self.low[at].max(low);
            while low < number && !self.known[at] {
                if self.values[at] == low {
                    self.known[at] = true;
                    bits.put(1, 1);
                } else {
                    low += 1;
                    bits.put(0, 1);
                }
            }
            self.low[at] = low;
        }
    }
}

/// Bits from the highest; after a byte 0xFF, the highest bit is stuffed.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u8,
    count: u32,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Result<bool, Damage> {
        if self.count == 0 {
            self.count = if self.held == 0xff { 7 } else { 8 };
            self.held = *self.bytes.get(self.at).ok_or(Damage)?;
            self.at += 1;
        }
        self.count -= 1;
        Ok(self.held >> self.count & 1 == 1)
    }

    fn bits(&mut self, count: u32) -> Result<usize, Damage> {
        (0..count).try_fold(0, |value, _| Ok(value << 1 | usize::from(self.bit()?)))
    }

    /// Skips a marker segment, if it stands here.
    fn marker(&mut self, marker: [u8; 2], length: usize) {
        if self.bytes.get(self.at..self.at + 2) == Some(&marker) {
            self.at += length;
        }
    }
}

/// The blocks of all packets: for each packet, sub-band and block.
pub(super) fn read(
    bytes: &[u8],
    packets: &[Packet],
    marked: bool,
) -> Result<Vec<Vec<Vec<Option<Coded>>>>, Fault> {
    let mut bits = BitReader {
        bytes,
        at: 0,
        held: 0,
        count: 0,
    };
    packets
        .iter()
        .map(|packet| {
            (bits.held, bits.count) = (0, 0);
            if marked {
                bits.marker([0xff, 0x91], 6);
            }
            let mut parts: Vec<Vec<Option<Coded>>> = Vec::new();
            let filled = bits.bit()?;
            for part in &packet.parts {
                parts.push(match filled {
                    true => lengths(part, &mut bits)?,
                    false => vec![None; part.blocks.len()],
                });
            }
            // A byte 0xFF does not end a header.
            if bits.held == 0xff {
                bits.at += 1;
            }
            if marked {
                bits.marker([0xff, 0x92], 2);
            }
            for coded in parts.iter_mut().flatten().flatten() {
                let end = bits.at + coded.range.len();
                if end > bytes.len() {
                    return Err(Damage.into());
                }
                coded.range = bits.at..end;
                bits.at = end;
            }
            Ok(parts)
        })
        .collect()
}

/// The lengths of the blocks of one sub-band.
fn lengths(part: &Part, bits: &mut BitReader<'_>) -> Result<Vec<Option<Coded>>, Fault> {
    let mut included = Tree::new(part.across, part.down);
    let mut missing = Tree::new(part.across, part.down);
    let mut coded = Vec::with_capacity(part.blocks.len());
    for leaf in 0..part.blocks.len() {
        if !included.below(leaf, 1, bits)? {
            coded.push(None);
            continue;
        }
        let mut planes = 0;
        while !missing.below(leaf, planes + 1, bits)? {
            planes += 1;
            if planes > 64 {
                return Err(Damage.into());
            }
        }
        if bits.bit()? {
            return Err(Fault::Unsupported("more than one coding pass"));
        }
        let mut size = 3;
        while bits.bit()? {
            size += 1;
            if size > 30 {
                return Err(Damage.into());
            }
        }
        let length = bits.bits(size)?;
        coded.push(Some(Coded {
            range: 0..length,
            missing: planes,
        }));
    }
    Ok(coded)
}

/// Bits from the highest, with stuffed bits.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl BitWriter {
    fn put(&mut self, value: usize, count: u32) {
        for i in (0..count).rev() {
            self.held = self.held << 1 | (value >> i & 1) as u32;
            self.count += 1;
            if self.count == self.room() {
                self.bytes.push(self.held as u8);
                (self.held, self.count) = (0, 0);
            }
        }
    }

    fn room(&self) -> u32 {
        if self.bytes.last() == Some(&0xff) {
            7
        } else {
            8
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 || self.room() == 7 {
            let rest = self.room() - self.count;
            self.put(0, rest);
        }
        self.bytes
    }
}

/// Appends a packet: for each sub-band its blocks, empty where all samples are zero, with the missing bit planes of each sub-band.
pub(super) fn write(packet: &Packet, blocks: &[Vec<Vec<u8>>], missing: &[u32], out: &mut Vec<u8>) {
    let mut bits = BitWriter::default();
    let filled = blocks.iter().flatten().any(|b| !b.is_empty());
    bits.put(filled.into(), 1);
    for ((part, blocks), missing) in packet
        .parts
        .iter()
        .zip(blocks)
        .zip(missing)
        .filter(|_| filled)
    {
        let empty = blocks.iter().map(|b| u32::from(b.is_empty()));
        let mut included = Tree::of(part.across, part.down, empty);
        let same = blocks.iter().map(|_| *missing);
        let mut planes = Tree::of(part.across, part.down, same);
        for (leaf, block) in blocks.iter().enumerate() {
            included.tell(leaf, 1, &mut bits);
            if block.is_empty() {
                continue;
            }
            planes.tell(leaf, missing + 1, &mut bits);
            // One pass; then the length, with more bits than three where needed.
            bits.put(0, 1);
            let size = (usize::BITS - block.len().leading_zeros()).max(3);
            bits.put(((1 << (size - 3)) - 1) << 1, size - 3 + 1);
            bits.put(block.len(), size);
        }
    }
    out.extend(bits.finish());
    for block in blocks.iter().flatten() {
        out.extend_from_slice(block);
    }
}
