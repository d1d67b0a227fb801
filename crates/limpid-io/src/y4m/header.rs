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
                "y4m: chroma C{form}; known are 420, 422, 444 and mono, with 8 to 16 bits"
            ))
        })?;
        Ok(Self {
            size: Size::new(width, height),
            chroma,
            bits,
            full_range: rest.contains("XCOLORRANGE=FULL"),
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
