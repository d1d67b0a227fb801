//! Raw frames for ffmpeg's standard input: Matroska, the simplest form with times, colours and fields.
//!
//! The header holds the tags of the film, so that ffmpeg's filters, encoders and files see frames as if they came from the film
//! itself. Every frame is a cluster of its own, with its time in nanoseconds.

use super::probe::Mastering;
use limpid::io::y4m::{Chroma, Header};
use std::io::{Result, Write};

/// What the frames are besides their samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Tags {
    /// Numbers of ITU-T H.273.
    pub(super) primaries: Option<u64>,
    pub(super) transfer: Option<u64>,
    pub(super) matrix: Option<u64>,
    /// Whether the range is full, if that is known.
    pub(super) full: Option<bool>,
    /// `left`, `center`, `topleft` or `top`.
    pub(super) chroma: Option<String>,
    pub(super) mastering: Option<Mastering>,
    pub(super) light: Option<(u64, u64)>,
    /// Whether the upper field comes first; `None` for whole frames.
    pub(super) upper_first: Option<bool>,
    pub(super) aspect: Option<(u32, u32)>,
    pub(super) rate: (u32, u32),
}

impl Tags {
    /// The tags of pictures of the screen, as films store them.
    pub(super) fn of_pictures(self) -> Self {
        Self {
            primaries: Some(1),
            transfer: Some(1),
            matrix: Some(1),
            full: Some(false),
            ..self
        }
    }
}

/// The code of raw samples that ffmpeg knows; `None` for forms that it does not.
pub(super) fn code(header: &Header) -> Option<[u8; 4]> {
    let bits = header.bits as u8;
    let deep = |kind: u8, chroma: u8| [b'Y', kind, chroma, bits];
    Some(match (header.chroma, bits) {
        (Chroma::Mono, 8) => *b"Y800",
        (Chroma::Mono, 9 | 10 | 12 | 14 | 16) => deep(b'1', 0),
        (Chroma::Sampled(2, 2), 8) => *b"I420",
        (Chroma::Sampled(2, 1), 8) => *b"Y42B",
        (Chroma::Sampled(1, 1), 8) => *b"444P",
        (Chroma::Sampled(4, 1), 8) => *b"Y41B",
        (Chroma::Sampled(2, 2), 9 | 10 | 12 | 14 | 16) => deep(b'3', 11),
        (Chroma::Sampled(2, 1), 9 | 10 | 12 | 14 | 16) => deep(b'3', 10),
        (Chroma::Sampled(1, 1), 9 | 10 | 12 | 14 | 16) => deep(b'3', 0),
        _ => return None,
    })
}

/// Bytes without the leading zeros of a number.
fn plain(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// An element: its number, its length in eight bytes, its contents.
fn element(id: u32, contents: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let start = id.iter().position(|b| *b != 0).unwrap_or(3);
    let length = (contents.len() as u64) | 1 << 56;
    [&id[start..], &length.to_be_bytes(), contents].concat()
}

fn number(id: u32, value: u64) -> Vec<u8> {
    element(id, &plain(value))
}

fn float(id: u32, value: f64) -> Vec<u8> {
    element(id, &value.to_be_bytes())
}

/// Writes frames.
pub(super) struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut to: W, header: &Header, code: [u8; 4], tags: &Tags) -> Result<Self> {
        let ebml = [
            number(0x4286, 1),
            number(0x42F7, 1),
            number(0x42F2, 4),
            number(0x42F3, 8),
            element(0x4282, b"matroska"),
            number(0x4287, 4),
            number(0x4285, 2),
        ];
        to.write_all(&element(0x1A45_DFA3, &ebml.concat()))?;
        // A segment of unknown length.
        to.write_all(&[0x18, 0x53, 0x80, 0x67, 1, 255, 255, 255, 255, 255, 255, 255])?;
        let info = [
            // One nanosecond.
            number(0x2A_D7B1, 1),
            element(0x4D80, b"limpid"),
            element(0x5741, b"limpid"),
        ];
        to.write_all(&element(0x1549_A966, &info.concat()))?;
        let (count, seconds) = tags.rate;
        let track = [
            number(0xD7, 1),
            number(0x73C5, 1),
            number(0x83, 1),
            element(0x86, b"V_UNCOMPRESSED"),
            element(0x22_B59C, b"und"),
            number(
                0x23_E383,
                1_000_000_000 * u64::from(seconds) / u64::from(count).max(1),
            ),
            element(0xE0, &video(header, code, tags)),
        ];
        let track = element(0xAE, &track.concat());
        to.write_all(&element(0x1654_AE6B, &track))?;
        Ok(Self { to })
    }

    /// Writes a frame with its time in nanoseconds.
    pub(super) fn write(&mut self, time: i64, frame: &[u8]) -> Result<()> {
        let time = number(0xE7, u64::try_from(time).unwrap_or(0));
        // The track, no time of its own, a key frame.
        let start = [0x81, 0, 0, 0x80];
        let length = |bytes: usize| ((bytes as u64) | 1 << 56).to_be_bytes();
        let block = start.len() + frame.len();
        self.to.write_all(&[0x1F, 0x43, 0xB6, 0x75])?;
        self.to.write_all(&length(time.len() + 9 + block))?;
        self.to.write_all(&time)?;
        self.to.write_all(&[0xA3])?;
        self.to.write_all(&length(block))?;
        self.to.write_all(&start)?;
        self.to.write_all(frame)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.to.flush()
    }
}

fn video(header: &Header, code: [u8; 4], tags: &Tags) -> Vec<u8> {
    let (width, height) = (header.size.width as u64, header.size.height as u64);
    let mut video = [number(0xB0, width), number(0xBA, height)].concat();
    if let Some((x, y)) = tags.aspect {
        video.extend(number(0x54B0, width * u64::from(x)));
        video.extend(number(0x54BA, height * u64::from(y)));
    }
    match tags.upper_first {
        None => video.extend(number(0x9A, 2)),
        Some(upper) => {
            video.extend(number(0x9A, 1));
            video.extend(number(0x9D, if upper { 1 } else { 6 }));
        }
    }
    video.extend(element(0x2E_B524, &code));
    video.extend(element(0x55B0, &colour(tags)));
    video
}

fn colour(tags: &Tags) -> Vec<u8> {
    let mut colour = Vec::new();
    let mut add = |id: u32, value: Option<u64>| {
        if let Some(value) = value {
            colour.extend(number(id, value));
        }
    };
    add(0x55B1, tags.matrix);
    add(0x55B9, tags.full.map(|full| if full { 2 } else { 1 }));
    add(0x55BA, tags.transfer);
    add(0x55BB, tags.primaries);
    let siting = match tags.chroma.as_deref() {
        Some("left") => Some((1, 2)),
        Some("center") => Some((2, 2)),
        Some("topleft") => Some((1, 1)),
        Some("top") => Some((2, 1)),
        _ => None,
    };
    add(0x55B7, siting.map(|s| s.0));
    add(0x55B8, siting.map(|s| s.1));
    add(0x55BC, tags.light.map(|l| l.0));
    add(0x55BD, tags.light.map(|l| l.1));
    if let Some(display) = &tags.mastering {
        let mut all: Vec<u8> = Vec::new();
        for (id, value) in (0x55D1..).zip(display.points.iter().flatten()) {
            all.extend(float(id, *value));
        }
        all.extend(float(0x55D9, display.most));
        all.extend(float(0x55DA, display.least));
        colour.extend(element(0x55D0, &all));
    }
    colour
}

/// The number of a name of ffprobe, such as `smpte2084`, among those of H.273.
pub(super) fn h273(kind: Kind, name: &str) -> Option<u64> {
    let table: &[(&str, u64)] = match kind {
        Kind::Primaries => &[
            ("bt709", 1),
            ("bt470m", 4),
            ("bt470bg", 5),
            ("smpte170m", 6),
            ("smpte240m", 7),
            ("film", 8),
            ("bt2020", 9),
            ("smpte428", 10),
            ("smpte431", 11),
            ("smpte432", 12),
            ("ebu3213", 22),
        ],
        Kind::Transfer => &[
            ("bt709", 1),
            ("gamma22", 4),
            ("bt470m", 4),
            ("gamma28", 5),
            ("bt470bg", 5),
            ("smpte170m", 6),
            ("smpte240m", 7),
            ("linear", 8),
            ("log100", 9),
            ("log316", 10),
            ("iec61966-2-4", 11),
            ("bt1361e", 12),
            ("iec61966-2-1", 13),
            ("bt2020-10", 14),
            ("bt2020-12", 15),
            ("smpte2084", 16),
            ("smpte428", 17),
            ("arib-std-b67", 18),
        ],
        Kind::Matrix => &[
            ("gbr", 0),
            ("bt709", 1),
            ("fcc", 4),
            ("bt470bg", 5),
            ("smpte170m", 6),
            ("smpte240m", 7),
            ("ycgco", 8),
            ("bt2020nc", 9),
            ("bt2020c", 10),
            ("smpte2085", 11),
            ("chroma-derived-nc", 12),
            ("chroma-derived-c", 13),
            ("ictcp", 14),
        ],
    };
    table.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

/// Which tag of colour is meant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Primaries,
    Transfer,
    Matrix,
}
