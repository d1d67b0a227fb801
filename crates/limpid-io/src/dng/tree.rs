//! The directories of a TIFF file and their entries, of every type, with their places in the file.

/// The maximum number of directories that are visited: a corrupt file may contain a cycle.
const MOST: usize = 64;

/// The maximum number of values of an entry that are read: a table for each value of 16 bits.
const VALUES: usize = 1 << 16;

/// Tags of directories and pixels.
pub(super) mod tag {
    pub(crate) const KIND: u16 = 254;
    pub(crate) const WIDTH: u16 = 256;
    pub(crate) const HEIGHT: u16 = 257;
    pub(crate) const BITS: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const FILL_ORDER: u16 = 266;
    #[cfg(feature = "raw")]
    pub(crate) const MAKE: u16 = 271;
    pub(crate) const MODEL: u16 = 272;
    pub(crate) const STRIPS: u16 = 273;
    pub(crate) const ORIENTATION: u16 = 274;
    pub(crate) const SAMPLES: u16 = 277;
    pub(crate) const STRIP_ROWS: u16 = 278;
    pub(crate) const STRIP_LENGTHS: u16 = 279;
    pub(crate) const PLANAR: u16 = 284;
    pub(crate) const PREDICTOR: u16 = 317;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_HEIGHT: u16 = 323;
    pub(crate) const TILES: u16 = 324;
    pub(crate) const TILE_LENGTHS: u16 = 325;
    pub(crate) const CHILDREN: u16 = 330;
    pub(crate) const FORMAT: u16 = 339;
    pub(crate) const JPEG_PLACE: u16 = 513;
    pub(crate) const JPEG_LENGTH: u16 = 514;
    pub(crate) const CFA_SIZE: u16 = 33421;
    pub(crate) const CFA_PATTERN: u16 = 33422;
    pub(crate) const EXIF: u16 = 34665;
    pub(crate) const GPS: u16 = 34853;
    pub(crate) const ISO: u16 = 34855;
    pub(crate) const VERSION: u16 = 50706;
    pub(crate) const BACKWARD_VERSION: u16 = 50707;
    pub(crate) const CAMERA: u16 = 50708;
    pub(crate) const PLANE_COLOR: u16 = 50710;
    pub(crate) const LAYOUT: u16 = 50711;
    pub(crate) const LINEARIZATION: u16 = 50712;
    pub(crate) const BLACK_SIZE: u16 = 50713;
    pub(crate) const BLACK: u16 = 50714;
    pub(crate) const BLACK_ACROSS: u16 = 50715;
    pub(crate) const BLACK_DOWN: u16 = 50716;
    pub(crate) const WHITE: u16 = 50717;
    pub(crate) const CROP_ORIGIN: u16 = 50719;
    pub(crate) const CROP_SIZE: u16 = 50720;
    pub(crate) const MATRICES: [u16; 2] = [50721, 50722];
    pub(crate) const CALIBRATIONS: [u16; 2] = [50723, 50724];
    pub(crate) const BALANCE: u16 = 50727;
    pub(crate) const NEUTRAL: u16 = 50728;
    pub(crate) const WHITE_POINT: u16 = 50729;
    pub(crate) const ILLUMINANTS: [u16; 2] = [50778, 50779];
    pub(crate) const UNIQUE_ID: u16 = 50781;
    pub(crate) const ACTIVE: u16 = 50829;
    pub(crate) const REDUCED: u16 = 50935;
    pub(crate) const GREENS: u16 = 50733;
    pub(crate) const MASKED: u16 = 50830;
    pub(crate) const DIGEST: u16 = 50972;
    pub(crate) const OPCODES: [u16; 3] = [51008, 51009, 51022];
    pub(crate) const NOISE: u16 = 51041;
    pub(crate) const NEW_DIGEST: u16 = 51111;
}

/// One entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    /// Its position in the file.
    pub(super) at: usize,
    pub(super) tag: u16,
    pub(super) kind: u16,
    pub(super) count: usize,
    /// The position of its values.
    pub(super) place: usize,
}

impl Entry {
    /// Bytes of all values; all types have a known size.
    pub(super) fn length(&self) -> usize {
        self.count.saturating_mul(width(self.kind))
    }
}

/// Bytes of a value of a type.
fn width(kind: u16) -> usize {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 => 8,
        _ => 1,
    }
}

/// A directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// The position of the number that leads to it.
    pub(super) pointer: usize,
    pub(super) at: usize,
    pub(super) entries: Vec<Entry>,
    /// The position of the number that leads to the next directory.
    pub(super) end: usize,
}

impl Directory {
    pub(super) fn entry(&self, tag: u16) -> Option<&Entry> {
        self.entries.iter().find(|e| e.tag == tag)
    }

    /// Bytes of the directory itself.
    pub(super) fn length(&self) -> usize {
        self.end + 4 - self.at
    }
}

/// A TIFF file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) little: bool,
}

impl<'a> Tree<'a> {
    /// A file with offsets of 32 bits; `None` if it is none.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let little = match bytes.get(..4)? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        Some(Self { bytes, little })
    }

    #[cfg(feature = "raw")]
    /// The same for files of cameras, some of which begin with another number than 42.
    pub(super) fn any(bytes: &'a [u8]) -> Option<Self> {
        let little = match bytes.get(..4)? {
            b"II*\0" | b"IIRO" | b"IIRS" | b"IIU\0" => true,
            b"MM\0*" | b"MMOR" => false,
            _ => return None,
        };
        Some(Self { bytes, little })
    }

    #[cfg(feature = "raw")]
    /// The directory to which the number at a place leads.
    pub(super) fn at(&self, pointer: usize) -> Option<Directory> {
        self.directory(pointer)
    }

    fn number(&self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.little {
            true => bytes.iter().rev().fold(0, push),
            false => bytes.iter().fold(0, push),
        })
    }

    /// The directory to which a number leads. Entries that do not lie in the file are left out.
    fn directory(&self, pointer: usize) -> Option<Directory> {
        let at = self.number(pointer, 4)? as usize;
        let count = self.number(at, 2)? as usize;
        let end = at.checked_add(2 + 12 * count)?;
        if at < 8 || end > self.bytes.len() {
            return None;
        }
        let entry = |at: usize| {
            let kind = self.number(at + 2, 2)? as u16;
            let count = self.number(at + 4, 4)? as usize;
            let length = count.checked_mul(width(kind))?;
            let place = match length {
                0..=4 => at + 8,
                _ => self.number(at + 8, 4)? as usize,
            };
            let inside = place.checked_add(length)? <= self.bytes.len();
            let tag = self.number(at, 2)? as u16;
            inside.then_some(Entry {
                at,
                tag,
                kind,
                count,
                place,
            })
        };
        let entries = (0..count).filter_map(|i| entry(at + 2 + 12 * i));
        Some(Directory {
            pointer,
            at,
            entries: entries.collect(),
            end,
        })
    }

    /// All directories: the first one, those inside it, and those that follow; also those of EXIF and GPS data.
    pub(super) fn directories(&self) -> Vec<Directory> {
        let mut pointers = vec![4];
        let mut found: Vec<Directory> = Vec::new();
        while let Some(pointer) = pointers.pop()
            && found.len() < MOST
        {
            let Some(directory) = self.directory(pointer) else {
                continue;
            };
            if found.iter().any(|d| d.at == directory.at) {
                continue;
            }
            pointers.push(directory.end);
            for tag in [tag::CHILDREN, tag::EXIF, tag::GPS] {
                if let Some(entry) = directory.entry(tag).filter(|e| width(e.kind) == 4) {
                    let count = entry.count.min(MOST);
                    pointers.extend((0..count).rev().map(|i| entry.place + 4 * i));
                }
            }
            found.push(directory);
        }
        found
    }

    /// The numbers of an entry; none for text and unknown types.
    pub(super) fn numbers(&self, directory: &Directory, tag: u16) -> Vec<f64> {
        let Some(entry) = directory.entry(tag) else {
            return Vec::new();
        };
        let each = width(entry.kind);
        let signed = |at: usize, length: usize| {
            let bits = 64 - 8 * length as u32;
            self.number(at, length)
                .map(|v| ((v << bits) as i64) >> bits)
        };
        let value = |i: usize| -> Option<f64> {
            let at = entry.place + i * each;
            let whole = |v: Option<u64>| v.map(|v| v as f64);
            match entry.kind {
                1 | 3 | 4 | 13 => whole(self.number(at, each)),
                // Bytes of any meaning, as some cameras write versions and patterns.
                7 => whole(self.number(at, 1)),
                6 | 8 | 9 => signed(at, each).map(|v| v as f64),
                5 => Some(self.number(at, 4)? as f64 / self.number(at + 4, 4)? as f64),
                10 => Some(signed(at, 4)? as f64 / signed(at + 4, 4)? as f64),
                11 => Some(f64::from(f32::from_bits(self.number(at, 4)? as u32))),
                12 => Some(f64::from_bits(self.number(at, 8)?)),
                _ => None,
            }
        };
        let count = entry.count.min(VALUES);
        let all: Option<Vec<f64>> = (0..count).map(value).collect();
        all.unwrap_or_default()
    }

    /// The text of an entry, without what follows its end.
    pub(super) fn text(&self, directory: &Directory, tag: u16) -> Option<String> {
        let entry = directory.entry(tag).filter(|e| e.kind == 2)?;
        let end = entry.place.checked_add(entry.length().min(256))?;
        let bytes = self.bytes.get(entry.place..end)?;
        let text = bytes.split(|b| *b == 0).next()?;
        let text = String::from_utf8_lossy(text).trim().to_owned();
        let plain = !text.is_empty() && !text.contains(char::is_control);
        plain.then_some(text)
    }

    /// The first number of an entry.
    pub(super) fn first(&self, directory: &Directory, tag: u16) -> Option<f64> {
        self.numbers(directory, tag).first().copied()
    }

    /// A number of an entry that is a count or a choice.
    pub(super) fn count(&self, directory: &Directory, tag: u16) -> Option<usize> {
        let value = self.first(directory, tag)?;
        (value >= 0.0 && value <= f64::from(u32::MAX)).then_some(value as usize)
    }
}

/// Writes numbers in the order of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) little: bool,
}

impl Pen {
    pub(super) fn short(self, value: u16) -> [u8; 2] {
        match self.little {
            true => value.to_le_bytes(),
            false => value.to_be_bytes(),
        }
    }

    pub(super) fn long(self, value: u32) -> [u8; 4] {
        match self.little {
            true => value.to_le_bytes(),
            false => value.to_be_bytes(),
        }
    }
}
