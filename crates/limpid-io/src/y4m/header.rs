//! The header line of a film.

use limpid_core::{Error, Result, Size};
use std::fmt;

/// Chroma sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chroma {
    /// No chroma.
    Mono,
    /// Chroma is subsampled by these factors along x and y.
    Sampled(usize, usize),
}

/// Weights of red and blue in luma. A y4m header does not store them; who knows more sets them with [`Header::with_matrix`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Matrix {
    /// BT.601: tapes and DVDs; assumed below 720 rows.
    Bt601,
    /// BT.709: high definition; assumed from 720 rows on.
    Bt709,
    /// BT.2020: ultra-high definition and HDR.
    Bt2020,
}

impl Matrix {
    /// The weights of red and of blue; green has the rest.
    pub fn shares(self) -> (f32, f32) {
        match self {
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
            Self::Bt2020 => (0.2627, 0.0593),
        }
    }
}

/// Size, rate and form of the frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Width and height.
    pub size: Size,
    /// Chroma sampling.
    pub chroma: Chroma,
    /// Bits of a sample, 8 to 16.
    pub bits: u32,
    /// Whether samples use the full range, or 16 … 235 (of 255).
    pub full_range: bool,
    /// Weights of the colours in luma.
    pub matrix: Matrix,
    /// The token for chroma and bits, without its `C`.
    form: String,
    /// Rate, interlacing, aspect and comments, unchanged.
    rest: String,
}

/// The longest allowed side of a frame.
const LONGEST: usize = 1 << 16;

impl Header {
    /// Parses the line.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let mut words = line.split(' ');
        if words.next() != Some("YUV4MPEG2") {
            return Err(Error::input("y4m: this is not a YUV4MPEG2 stream"));
        }
        let (mut width, mut height, mut form, mut rest) = (0, 0, "420jpeg", String::new());
        for word in words.filter(|w| !w.is_empty()) {
            let (kind, value) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            match kind {
                "W" => width = value.parse().unwrap_or(0),
                "H" => height = value.parse().unwrap_or(0),
                "C" => form = value,
                _ => rest += &format!(" {word}"),
            }
        }
        if !(1..=LONGEST).contains(&width) || !(1..=LONGEST).contains(&height) {
            return Err(Error::input(format!(
                "y4m: a size of {width}x{height} is not usable"
            )));
        }
        let (chroma, bits) = parse_form(form).ok_or_else(|| {
            Error::unsupported(format!(
                "y4m: chroma C{form}; known are 420, 411, 422, 444 and mono, with 8 to 16 bits"
            ))
        })?;
        Ok(Self {
            size: Size::new(width, height),
            chroma,
            bits,
            full_range: rest.contains("XCOLORRANGE=FULL"),
            matrix: match height >= 720 {
                true => Matrix::Bt709,
                false => Matrix::Bt601,
            },
            form: form.to_owned(),
            rest,
        })
    }

    /// The same film without chroma subsampling, with this many bits.
    #[must_use]
    pub fn widened(mut self, bits: u32) -> Self {
        let colour = self.chroma != Chroma::Mono;
        self.bits = bits.clamp(8, 16);
        self.form = match (colour, self.bits) {
            (true, 8) => "444".to_owned(),
            (true, bits) => format!("444p{bits}"),
            (false, 8) => "mono".to_owned(),
            (false, bits) => format!("mono{bits}"),
        };
        if colour {
            self.chroma = Chroma::Sampled(1, 1);
        }
        self
    }

    /// A header for frames of this form: `420p10`, `444`, `mono`; 8 bits are not named. `rate` is in frames per second.
    pub fn new(size: Size, form: &str, (count, seconds): (u32, u32)) -> Result<Self> {
        let Size { width, height } = size;
        Self::parse(&format!(
            "YUV4MPEG2 W{width} H{height} F{count}:{seconds} Ip A1:1 C{form}"
        ))
    }

    /// The same film with these weights of the colours in luma.
    #[must_use]
    pub fn with_matrix(mut self, matrix: Matrix) -> Self {
        self.matrix = matrix;
        self
    }

    /// Whether the header says that a frame consists of two fields.
    pub fn is_interlaced(&self) -> bool {
        self.word('I')
            .is_some_and(|order| matches!(order, "t" | "b"))
    }

    /// Whether the even rows come first, if a frame consists of two fields.
    pub fn upper_first(&self) -> bool {
        self.word('I') != Some("b")
    }

    /// Frames per second as a fraction; `None` if it is not known.
    pub fn rate(&self) -> Option<(u32, u32)> {
        self.fraction('F')
    }

    /// Width of a pixel divided by its height; `None` if it is not known.
    pub fn aspect(&self) -> Option<(u32, u32)> {
        self.fraction('A')
    }

    fn fraction(&self, kind: char) -> Option<(u32, u32)> {
        let (a, b) = self.word(kind)?.split_once(':')?;
        let both = (a.parse().ok()?, b.parse().ok()?);
        (both.0 > 0 && both.1 > 0).then_some(both)
    }

    fn word(&self, kind: char) -> Option<&str> {
        self.rest.split(' ').find_map(|w| w.strip_prefix(kind))
    }

    /// The header of one field: every second row.
    pub(super) fn field(&self) -> Result<Self> {
        let rows = match self.chroma {
            Chroma::Sampled(_, y) => 2 * y,
            Chroma::Mono => 2,
        };
        if !self.size.height.is_multiple_of(rows) {
            return Err(Error::unsupported(format!(
                "fields of a height of {} rows; it must be a multiple of {rows}",
                self.size.height
            )));
        }
        let mut field = self.clone();
        field.size.height /= 2;
        Ok(field)
    }

    /// Bytes of a row of each plane.
    pub(super) fn row_bytes(&self) -> Vec<(usize, usize)> {
        let bytes = if self.bits > 8 { 2 } else { 1 };
        let mut planes = vec![self.size];
        planes.extend(self.chroma_size());
        planes.extend(self.chroma_size());
        let row = |s: &Size| (bytes * s.width, s.height);
        planes.iter().map(row).collect()
    }

    /// Size of the chroma planes; `None` for mono.
    pub(super) fn chroma_size(&self) -> Option<Size> {
        match self.chroma {
            Chroma::Mono => None,
            Chroma::Sampled(x, y) => Some(Size::new(
                self.size.width.div_ceil(x),
                self.size.height.div_ceil(y),
            )),
        }
    }

    /// Bytes of a frame.
    pub(super) fn frame_bytes(&self) -> usize {
        let samples = self.size.pixels() + 2 * self.chroma_size().map_or(0, |s| s.pixels());
        samples * if self.bits > 8 { 2 } else { 1 }
    }
}

/// Chroma and bits of a token such as `420jpeg`, `422p10`, `mono16`.
fn parse_form(form: &str) -> Option<(Chroma, u32)> {
    if let Some(bits) = form.strip_prefix("mono") {
        let bits = if bits.is_empty() {
            8
        } else {
            bits.parse().ok()?
        };
        return (8..=16).contains(&bits).then_some((Chroma::Mono, bits));
    }
    let (sampling, rest) = form.split_at_checked(3)?;
    let chroma = match sampling {
        "420" => Chroma::Sampled(2, 2),
        "411" => Chroma::Sampled(4, 1),
        "422" => Chroma::Sampled(2, 1),
        "444" => Chroma::Sampled(1, 1),
        _ => return None,
    };
    let bits = match rest {
        "" | "jpeg" | "mpeg2" | "paldv" => 8,
        rest => rest.strip_prefix('p')?.parse().ok()?,
    };
    (8..=16).contains(&bits).then_some((chroma, bits))
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { width, height } = self.size;
        write!(
            f,
            "YUV4MPEG2 W{width} H{height}{} C{}",
            self.rest, self.form
        )
    }
}
