//! What a file says about the shot, for files without EXIF data of their own.

use super::super::dng::Kept;
use flashraw::RawMetadata;

/// Types of entries.
const ASCII: u16 = 2;
const SHORT: u16 = 3;
const RATIONAL: u16 = 5;
const SIGNED: u16 = 10;

type Item = (u16, u16, u32, Vec<u8>);

/// Adds what is missing.
pub(super) fn complete(kept: &mut Kept, about: &RawMetadata) {
    let write = Items {
        little: kept.little,
    };
    let shot = &about.exposure;
    let mut exif = Vec::new();
    exif.extend(shot.exposure_time.and_then(|v| write.time(v)));
    exif.extend(shot.f_number.and_then(|v| write.fraction(33437, v.into())));
    exif.extend(shot.iso.and_then(|v| write.short(34855, v)));
    exif.extend(write.date(36867, about.capture_time.as_deref()));
    exif.extend(shot.exposure_bias.map(|v| write.signed(37380, v.into())));
    exif.extend(shot.flash.and_then(|v| write.short(37385, v.into())));
    exif.extend(
        shot.focal_length
            .and_then(|v| write.fraction(37386, v.into())),
    );
    exif.extend(shot.focal_length_35mm.and_then(|v| write.short(41989, v)));
    exif.extend(write.text(42033, about.serial.as_deref()));
    exif.extend(write.text(42035, about.lens.make.as_deref()));
    exif.extend(write.text(42036, about.lens.model.as_deref()));
    let mut first = Vec::new();
    first.extend(write.date(306, about.capture_time.as_deref()));
    first.extend(write.text(315, about.artist.as_deref()));
    first.extend(write.text(33432, about.copyright.as_deref()));
    for (new, to) in [(exif, &mut kept.exif), (first, &mut kept.first)] {
        for item in new {
            if to.iter().all(|i| i.0 != item.0) {
                to.push(item);
            }
        }
    }
    if let (true, Some(gps)) = (kept.gps.is_empty(), &about.gps)
        && let (Some(latitude), Some(longitude)) = (gps.latitude, gps.longitude)
    {
        let side = |v: f64, sides: [&'static str; 2]| sides[usize::from(v < 0.0)];
        kept.gps.push((0, 1, 4, vec![2, 3, 0, 0]));
        kept.gps
            .extend(write.text(1, Some(side(latitude, ["N", "S"]))));
        kept.gps.extend(write.degrees(2, latitude));
        kept.gps
            .extend(write.text(3, Some(side(longitude, ["E", "W"]))));
        kept.gps.extend(write.degrees(4, longitude));
    }
}

/// Makes entries.
struct Items {
    little: bool,
}

impl Items {
    fn long(&self, value: u32) -> [u8; 4] {
        match self.little {
            true => value.to_le_bytes(),
            false => value.to_be_bytes(),
        }
    }

    fn short(&self, tag: u16, value: u32) -> Option<Item> {
        let value = u16::try_from(value).ok().filter(|v| *v > 0)?;
        let bytes = match self.little {
            true => value.to_le_bytes(),
            false => value.to_be_bytes(),
        };
        Some((tag, SHORT, 1, bytes.to_vec()))
    }

    fn pair(&self, tag: u16, kind: u16, top: i64, below: i64) -> Item {
        let bytes = [self.long(top as u32), self.long(below as u32)].concat();
        (tag, kind, 1, bytes)
    }

    fn fraction(&self, tag: u16, value: f64) -> Option<Item> {
        let sane = value.is_finite() && value > 0.0 && value < 1e5;
        sane.then(|| self.pair(tag, RATIONAL, (value * 1e4).round() as i64, 10_000))
    }

    fn signed(&self, tag: u16, value: f64) -> Item {
        let value = if value.is_finite() {
            value.clamp(-100.0, 100.0)
        } else {
            0.0
        };
        self.pair(tag, SIGNED, (value * 1e3).round() as i64, 1000)
    }

    /// An exposure time: short ones as 1/n.
    fn time(&self, seconds: f64) -> Option<Item> {
        let sane = seconds.is_finite() && seconds > 1e-6 && seconds < 1e5;
        sane.then(|| match seconds < 0.3 {
            true => self.pair(33434, RATIONAL, 1, (1.0 / seconds).round() as i64),
            false => self.pair(33434, RATIONAL, (seconds * 1e4).round() as i64, 10_000),
        })
    }

    fn text(&self, tag: u16, text: Option<&str>) -> Option<Item> {
        let text = text.map(str::trim).filter(|t| !t.is_empty())?;
        let mut bytes: Vec<u8> = text.bytes().filter(|b| *b != 0).take(1 << 10).collect();
        bytes.push(0);
        Some((tag, ASCII, bytes.len() as u32, bytes))
    }

    /// `2004-05-06T07:08:09…` as EXIF data has it.
    fn date(&self, tag: u16, time: Option<&str>) -> Option<Item> {
        let time = time?.get(..19)?;
        let text = time.replace('-', ":").replace('T', " ");
        self.text(tag, Some(&text))
    }

    fn degrees(&self, tag: u16, value: f64) -> Option<Item> {
        let value = value.abs();
        if !value.is_finite() || value > 360.0 {
            return None;
        }
        let minutes = value.fract() * 60.0;
        let parts = [
            [value.trunc() as u32, 1],
            [minutes.trunc() as u32, 1],
            [(minutes.fract() * 6e5).round() as u32, 10_000],
        ];
        let bytes = parts.iter().flatten().flat_map(|v| self.long(*v)).collect();
        Some((tag, RATIONAL, 3, bytes))
    }
}
