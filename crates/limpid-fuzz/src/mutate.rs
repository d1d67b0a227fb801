//! Mutation of a corpus.

use crate::Target;

/// A generator of numbers that are the same everywhere.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not begin alike.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `below`; 0 for 0.
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below.max(1)
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.roll(from.len());
        &from[at]
    }
}

/// Maximum length of inputs, unless a seed is longer.
const LONGEST: usize = 16 << 10;

/// The most inputs that are kept.
const MOST: usize = 4096;

/// Inputs that reached something new, and what mutates them.
#[derive(Debug)]
pub struct Corpus {
    target: &'static Target,
    inputs: Vec<Vec<u8>>,
    words: Vec<String>,
    longest: usize,
}

impl Corpus {
    /// The seeds of a target, and further inputs.
    pub fn new(target: &'static Target, more: Vec<Vec<u8>>) -> Self {
        let mut inputs = (target.seeds)();
        inputs.extend(more);
        let longest = inputs.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            target,
            inputs,
            words: (target.words)(),
            longest: longest.max(LONGEST),
        }
    }

    /// All inputs.
    pub fn inputs(&self) -> &[Vec<u8>] {
        &self.inputs
    }

    /// Keeps an input that reached something new.
    pub fn keep(&mut self, input: Vec<u8>, dice: &mut Dice) {
        if self.inputs.len() < MOST {
            self.inputs.push(input);
        } else {
            let at = dice.roll(MOST);
            self.inputs[at] = input;
        }
    }

    /// The next input.
    pub fn next(&self, dice: &mut Dice) -> Vec<u8> {
        let mut input = match self.target.make {
            Some(make) if dice.roll(16) == 0 => make(dice),
            // New inputs more often than old ones.
            _ if dice.roll(2) == 0 && self.inputs.len() > 16 => {
                let recent = &self.inputs[self.inputs.len() - 16..];
                dice.pick(recent).clone()
            }
            _ => dice.pick(&self.inputs).clone(),
        };
        for _ in 0..=dice.roll(4) {
            self.mutate(&mut input, dice);
        }
        input.truncate(self.longest);
        if let Some(repair) = self.target.repair
            && dice.roll(8) > 0
        {
            repair(&mut input);
        }
        input
    }

    fn mutate(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        if bytes.is_empty() {
            bytes.push(0);
        }
        let length = bytes.len();
        // Headers are where the structure is.
        let at = match dice.roll(2) {
            0 => dice.roll(length.min(600)),
            _ => dice.roll(length),
        };
        match dice.roll(11) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << dice.roll(8),
            2 => bytes[at] = *dice.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            3 => {
                let near = dice.roll(35) as u32;
                let word = *dice.pick(&[0, u32::MAX, 0x7fff_ffff, 0x8000_0000, 65536, near]);
                let word = match dice.roll(2) {
                    0 => word.to_le_bytes(),
                    _ => word.to_be_bytes(),
                };
                let width = *dice.pick(&[2, 4]);
                let end = (at + width).min(length);
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            4 => drop(bytes.drain(at..(at + dice.roll(16)).min(length))),
            5 => {
                let copy = bytes[at..(at + dice.roll(64)).min(length)].to_vec();
                let to = dice.roll(length);
                bytes.splice(to..to, copy);
            }
            6 => bytes.swap(at, dice.roll(length)),
            7 => bytes[at] = bytes[at].wrapping_add(dice.roll(35) as u8).wrapping_sub(17),
            8 => {
                // A piece of another input.
                let other = dice.pick(&self.inputs);
                if !other.is_empty() {
                    let from = dice.roll(other.len());
                    let piece = &other[from..(from + 1 + dice.roll(128)).min(other.len())];
                    let end = (at + piece.len() * dice.roll(2)).min(length);
                    bytes.splice(at..end, piece.iter().copied());
                }
            }
            9 => {
                let run = vec![bytes[at]; dice.roll(256)];
                bytes.splice(at..at, run);
            }
            _ if self.words.is_empty() => bytes[at] = dice.roll(256) as u8,
            _ => {
                let word = dice.pick(&self.words).as_bytes();
                let end = (at + word.len() * dice.roll(2)).min(length);
                bytes.splice(at..end, word.iter().copied());
            }
        }
    }
}
