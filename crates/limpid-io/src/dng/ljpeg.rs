//! Lossless JPEG (ITU T.81, process 14), as raw files have it: 2 to 16 bits, up to four components, any predictor.

/// Bits of codes that are looked up in one step.
const FAST: u32 = 9;

/// The most components, and tables.
const MOST: usize = 4;

/// The samples of a file: rows of `row` samples, components interleaved.
#[derive(Debug, PartialEq)]
pub(super) struct Samples {
    pub(super) row: usize,
    pub(super) values: Vec<u16>,
}

/// A table of codes.
#[derive(Debug, Clone)]
struct Codes {
    /// For the first bits of a code: its length, or 0 if it is longer, and its symbol.
    fast: Vec<(u8, u8)>,
    /// For each length, the codes below this, moved to 16 bits, are of this length or shorter.
    below: [u32; 17],
    /// For each length, what leads from a code to the place of its symbol.
    place: [i32; 17],
    symbols: Vec<u8>,
}

impl Codes {
    fn new(counts: &[u8], symbols: &[u8]) -> Option<Self> {
        let mut made = Self {
            fast: vec![(0, 0); 1 << FAST],
            below: [0; 17],
            place: [0; 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut next) = (0u32, 0usize);
        for length in 1..=16u32 {
            made.place[length as usize] = next as i32 - code as i32;
            for _ in 0..*counts.get(length as usize - 1)? {
                if code >> length > 0 {
                    return None;
                }
                let symbol = *symbols.get(next)?;
                if symbol > 16 {
                    return None;
                }
                if length <= FAST {
                    let from = (code << (FAST - length)) as usize;
                    let count = 1 << (FAST - length);
                    made.fast
                        .get_mut(from..from + count)?
                        .fill((length as u8, symbol));
                }
                code += 1;
                next += 1;
            }
            made.below[length as usize] = code << (16 - length);
            code <<= 1;
        }
        Some(made)
    }
}

/// Bits of a scan, without the zeros after 0xff.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
    /// Zeros that were taken after the end of the data.
    missing: u32,
}

impl Bits<'_> {
    fn fill(&mut self) {
        while self.count <= 48 {
            let byte = match self.bytes.get(self.at) {
                Some(0xff) if self.bytes.get(self.at + 1) == Some(&0) => {
                    self.at += 2;
                    0xff
                }
                Some(byte) if *byte != 0xff => {
                    self.at += 1;
                    *byte
                }
                _ => {
                    self.missing += 8;
                    0
                }
            };
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
    }

    fn peek(&self, count: u32) -> u32 {
        (self.held >> (self.count - count)) as u32 & ((1 << count) - 1)
    }

    /// The next difference.
    fn difference(&mut self, codes: &Codes) -> Option<i32> {
        self.fill();
        let (mut length, mut symbol) = codes.fast[self.peek(FAST) as usize];
        if length == 0 {
            let code = self.peek(16);
            let found = (FAST as usize + 1..=16).find(|l| code < codes.below[*l])?;
            let at = (code >> (16 - found)) as i32 + codes.place[found];
            length = found as u8;
            symbol = *codes.symbols.get(usize::try_from(at).ok()?)?;
        }
        self.count -= u32::from(length);
        match symbol {
            0 => Some(0),
            16 => Some(32768),
            bits => {
                let bits = u32::from(bits);
                let value = self.peek(bits) as i32;
                self.count -= bits;
                let negative = value >> (bits - 1) == 0;
                Some(if negative {
                    value - (1 << bits) + 1
                } else {
                    value
                })
            }
        }
    }

    /// Goes to what follows a restart marker.
    fn restart(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        let marker = rest
            .windows(2)
            .position(|w| w[0] == 0xff && (0xd0..0xd8).contains(&w[1]))?;
        (self.at, self.held, self.count, self.missing) = (self.at + marker + 2, 0, 0, 0);
        Some(())
    }
}

/// The header of a file.
#[derive(Debug, Default)]
struct Header {
    precision: u32,
    width: usize,
    height: usize,
    components: usize,
    restart: usize,
    tables: [Option<Codes>; MOST],
}

/// Decodes a file; `None` if it is corrupt or of another kind.
pub(super) fn decode(bytes: &[u8]) -> Option<Samples> {
    if bytes.get(..2)? != [0xff, 0xd8] {
        return None;
    }
    let mut header = Header::default();
    let mut at = 2;
    loop {
        let (marker, length) = (bytes.get(at..at + 2)?, bytes.get(at + 2..at + 4)?);
        if marker[0] != 0xff {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let body = bytes.get(at + 4..at + 2 + length.max(2))?;
        at += 2 + length.max(2);
        match marker[1] {
            0xc4 => header.tables(body)?,
            0xc3 => header.frame(body)?,
            0xdd => {
                header.restart = usize::from(u16::from_be_bytes([*body.first()?, *body.get(1)?]));
            }
            0xda => return header.scan(body, &bytes[at..]),
            0xc0..=0xcf | 0xd8 | 0xd9 => return None,
            _ => {}
        }
    }
}

impl Header {
    fn tables(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((which, rest)) = body.split_first() {
            let counts = rest.get(..16)?;
            let count = counts.iter().map(|c| usize::from(*c)).sum::<usize>();
            let symbols = rest.get(16..16 + count)?;
            *self.tables.get_mut(usize::from(which & 15))? = Some(Codes::new(counts, symbols)?);
            body = &rest[16 + count..];
        }
        Some(())
    }

    fn frame(&mut self, body: &[u8]) -> Option<()> {
        let [precision, h0, h1, w0, w1, components, ..] = *body else {
            return None;
        };
        self.precision = u32::from(precision);
        self.height = usize::from(u16::from_be_bytes([h0, h1]));
        self.width = usize::from(u16::from_be_bytes([w0, w1]));
        self.components = usize::from(components);
        // Components of the same size only.
        let alike = |i: usize| body.get(7 + 3 * i) == Some(&0x11);
        let known = (2..=16).contains(&precision) && (1..=MOST).contains(&self.components);
        (known && self.width > 0 && self.height > 0 && (0..self.components).all(alike))
            .then_some(())
    }

    fn scan(&self, body: &[u8], data: &[u8]) -> Option<Samples> {
        let count = self.components;
        if count == 0 || usize::from(*body.first()?) != count {
            return None;
        }
        let table = |i: usize| {
            let which = usize::from(body.get(2 + 2 * i)? >> 4);
            self.tables.get(which)?.as_ref()
        };
        let tables: Vec<&Codes> = (0..count).map(table).collect::<Option<_>>()?;
        let predictor = *body.get(1 + 2 * count)?;
        let shift = u32::from(*body.get(3 + 2 * count)? & 15);
        if !(1..=7).contains(&predictor) || shift >= self.precision {
            return None;
        }
        let row = self.width * count;
        // Each sample takes a bit at least.
        let total = row.checked_mul(self.height)?;
        if total > data.len().saturating_mul(8) || !self.restart.is_multiple_of(self.width) {
            return None;
        }
        let first = 1i32 << (self.precision - shift - 1);
        let mut values = limpid_core::memory::zeros::<u16>(total);
        let mut bits = Bits {
            bytes: data,
            at: 0,
            held: 0,
            count: 0,
            missing: 0,
        };
        let rows = self.restart / self.width;
        for y in 0..self.height {
            let begins = y == 0 || (rows > 0 && y % rows == 0);
            if y > 0 && begins {
                bits.restart()?;
            }
            let (above, line) = values.split_at_mut(y * row);
            let above = &above[above.len().saturating_sub(row)..];
            let line = &mut line[..row];
            for x in 0..row {
                let left = |line: &[u16]| i32::from(line[x - count]);
                let predicted = match (begins, x < count) {
                    (true, true) => first,
                    (true, false) => left(line),
                    (false, true) => i32::from(above[x]),
                    (false, false) => {
                        let (a, b, c) =
                            (left(line), i32::from(above[x]), i32::from(above[x - count]));
                        match predictor {
                            1 => a,
                            2 => b,
                            3 => c,
                            4 => a + b - c,
                            5 => a + ((b - c) >> 1),
                            6 => b + ((a - c) >> 1),
                            _ => (a + b) >> 1,
                        }
                    }
                };
                let difference = bits.difference(tables[x % count])?;
                line[x] = (predicted + difference) as u16;
            }
            // More bits than a word holds were missing: the data end before the picture does.
            if bits.missing > 64 {
                return None;
            }
        }
        if shift > 0 {
            values.iter_mut().for_each(|v| *v <<= shift);
        }
        Some(Samples { row, values })
    }
}

/// Encodes samples of 16 bits, components interleaved, with the left neighbour as predictor.
pub(super) fn encode(values: &[u16], (width, height): (u16, u16), components: u8) -> Vec<u8> {
    let count = usize::from(components).max(1);
    let row = usize::from(width) * count;
    let mut differences = Vec::with_capacity(values.len());
    for (y, line) in values.chunks_exact(row.max(1)).enumerate() {
        for (x, value) in line.iter().enumerate() {
            let predicted = match (y, x < count) {
                (0, true) => 1 << 15,
                (_, true) => values[(y - 1) * row + x],
                _ => line[x - count],
            };
            differences.push(value.wrapping_sub(predicted) as i16);
        }
    }
    let category = |d: i16| 16 - d.unsigned_abs().leading_zeros() as usize;
    let mut counts = [0u64; 17];
    for d in &differences {
        counts[category(*d)] += 1;
    }
    let lengths = lengths(&counts);
    let mut symbols: Vec<usize> = (0..17).filter(|s| lengths[*s] > 0).collect();
    symbols.sort_by_key(|s| (lengths[*s], *s));
    let mut codes = [0u32; 17];
    let (mut code, mut last) = (0u32, 0);
    for s in &symbols {
        code <<= lengths[*s] - last;
        last = lengths[*s];
        codes[*s] = code;
        code += 1;
    }
    let mut out = vec![0xff, 0xd8, 0xff, 0xc3];
    out.extend((8 + 3 * u16::from(components)).to_be_bytes());
    out.push(16);
    out.extend(height.to_be_bytes());
    out.extend(width.to_be_bytes());
    out.push(components);
    for i in 0..components {
        out.extend([i, 0x11, 0]);
    }
    out.extend([0xff, 0xc4]);
    out.extend((19 + symbols.len() as u16).to_be_bytes());
    out.push(0);
    out.extend((1..=16).map(|l| symbols.iter().filter(|s| lengths[**s] == l).count() as u8));
    out.extend(symbols.iter().map(|s| *s as u8));
    out.extend([0xff, 0xda]);
    out.extend((6 + 2 * u16::from(components)).to_be_bytes());
    out.push(components);
    for i in 0..components {
        out.extend([i, 0]);
    }
    out.extend([1, 0, 0]);
    let (mut held, mut held_count) = (0u64, 0u32);
    let mut put = |out: &mut Vec<u8>, value: u32, count: u32| {
        held = held << count | u64::from(value);
        held_count += count;
        while held_count >= 8 {
            let byte = (held >> (held_count - 8)) as u8;
            out.push(byte);
            if byte == 0xff {
                out.push(0);
            }
            held_count -= 8;
        }
    };
    for d in differences {
        let symbol = category(d);
        put(&mut out, codes[symbol], lengths[symbol]);
        // The difference of 32768 has no further bits.
        if (1..16).contains(&symbol) {
            let bits = if d < 0 { d.wrapping_sub(1) } else { d } as u16;
            put(
                &mut out,
                u32::from(bits) & ((1 << symbol) - 1),
                symbol as u32,
            );
        }
    }
    put(&mut out, 0x7f, 7);
    out.extend([0xff, 0xd9]);
    out
}

/// The lengths of the codes of symbols, by how often they occur: Huffman's, and at most 16 bits, of which none is all ones.
fn lengths(counts: &[u64; 17]) -> [u32; 17] {
    // One more symbol, the rarest, takes the code of ones.
    let mut nodes: Vec<(u64, Vec<usize>)> = vec![(0, vec![17])];
    nodes.extend(
        (0..17)
            .filter(|s| counts[*s] > 0)
            .map(|s| (counts[s], vec![s])),
    );
    let mut depth = [0u32; 18];
    while nodes.len() > 1 {
        nodes.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.len().cmp(&a.1.len())));
        let (Some(a), Some(b)) = (nodes.pop(), nodes.pop()) else {
            break;
        };
        let both: Vec<usize> = a.1.into_iter().chain(b.1).collect();
        both.iter().for_each(|s| depth[*s] += 1);
        nodes.push((a.0 + b.0, both));
    }
    let mut sizes = [0usize; 20];
    depth.iter().for_each(|d| sizes[*d as usize] += 1);
    // Eighteen symbols may need 17 bits. Of two codes that are too long, one becomes the code above both; the other moves under a
    // shorter code, which becomes longer by one, as it does.
    for length in (17..20).rev() {
        while sizes[length] > 0 {
            let Some(short) = (1..length - 1).rev().find(|l| sizes[*l] > 0) else {
                break;
            };
            sizes[length] -= 2;
            sizes[length - 1] += 1;
            sizes[short + 1] += 2;
            sizes[short] -= 1;
        }
    }
    let sizes = (1..20u32).flat_map(|l| std::iter::repeat_n(l, sizes[l as usize]));
    // The rarest symbol has the longest code, the last one: ones only.
    let mut order: Vec<usize> = (0..17).filter(|s| counts[*s] > 0).collect();
    order.sort_by_key(|s| std::cmp::Reverse(counts[*s]));
    let mut lengths = [0; 17];
    for (s, size) in order.into_iter().zip(sizes) {
        lengths[s] = size;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(width: usize, height: usize, step: usize) -> Vec<u16> {
        let value = |i: usize| ((i * i * 31 + i * step) % 65_521) as u16;
        (0..width * height).map(value).collect()
    }

    #[test]
    fn values_come_back() {
        for (width, height, components) in [
            (8u16, 5u16, 1u8),
            (6, 7, 2),
            (3, 3, 3),
            (1, 1, 1),
            (64, 64, 2),
        ] {
            for step in [0, 1, 7, 4099] {
                let count = usize::from(width) * usize::from(components);
                let values = made(count, height.into(), step);
                let file = encode(&values, (width, height), components);
                let back = decode(&file).unwrap();
                assert_eq!((back.row, back.values), (count, values));
            }
        }
    }

    #[test]
    fn flat_and_extreme_values_come_back() {
        for values in [
            vec![0; 64],
            vec![65535; 64],
            [0, 32768].repeat(32),
            [0, 65535, 1, 32767].repeat(16),
        ] {
            let file = encode(&values, (8, 8), 1);
            assert_eq!(decode(&file).unwrap().values, values);
        }
    }

    /// Counts that grow like Fibonacci's numbers need the longest codes.
    #[test]
    fn codes_are_short_enough_and_distinct() {
        let mut counts = [1u64; 17];
        for i in 2..17 {
            counts[i] = counts[i - 1] + counts[i - 2];
        }
        let found = lengths(&counts);
        assert!(found.iter().all(|l| (1..=16).contains(l)), "{found:?}");
        let room: f64 = found.iter().map(|l| 0.5f64.powi(*l as i32)).sum();
        assert!(room < 1.0, "{found:?}");
    }

    #[test]
    fn damage_is_none() {
        let file = encode(&made(32, 16, 3), (16, 16), 2);
        for end in 0..file.len() - 40 {
            assert!(decode(&file[..end]).is_none(), "{end}");
        }
        for at in 0..file.len() {
            let mut other = file.clone();
            other[at] ^= 0x55;
            decode(&other);
        }
    }
}
