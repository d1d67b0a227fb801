//! EXIF: the ISO speed, which helps to judge noise, and how a picture has to be turned.

/// The TIFF file in EXIF data, which JPEG files precede with `Exif\0\0`.
pub(super) fn plain(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"Exif\0\0").unwrap_or(data)
}

/// How the picture has to be turned to be upright: 1 … 8, where 1 is upright.
pub(super) fn orientation(data: &[u8]) -> Option<u16> {
    let file = Tiff::of(data)?;
    let found = file.entry(file.long(4)?, 0x112)?;
    u16::try_from(found).ok().filter(|o| (1..=8).contains(o))
}

/// EXIF data that says only this.
pub(super) fn turned(orientation: u16) -> Vec<u8> {
    // One entry: a short.
    let mut data = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01".to_vec();
    data.extend(orientation.to_be_bytes());
    data.extend([0; 6]);
    data
}

/// The ISO speed in EXIF data, which is a small TIFF file, possibly after `Exif\0\0`.
pub(super) fn iso(data: &[u8]) -> Option<u32> {
    let file = Tiff::of(data)?;
    let first = file.long(4)?;
    let exif = file.entry(first, 0x8769)?;
    // PhotographicSensitivity; RecommendedExposureIndex if the value is too large for the first.
    let found = file.entry(exif, 0x8827).filter(|iso| *iso < 0xffff);
    found
        .or_else(|| file.entry(exif, 0x8832))
        .filter(|iso| *iso > 0)
}

struct Tiff<'a> {
    data: &'a [u8],
    little: bool,
}

impl<'a> Tiff<'a> {
    fn of(data: &'a [u8]) -> Option<Self> {
        let data = plain(data);
        let little = match data.get(..4)? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        Some(Self { data, little })
    }
}

impl Tiff<'_> {
    fn short(&self, at: u32) -> Option<u32> {
        let at = at as usize;
        let bytes: [u8; 2] = self.data.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(u32::from(match self.little {
            true => u16::from_le_bytes(bytes),
            false => u16::from_be_bytes(bytes),
        }))
    }

    fn long(&self, at: u32) -> Option<u32> {
        let at = at as usize;
        let bytes: [u8; 4] = self.data.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self.little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        })
    }

    /// The first number of a tag in a directory.
    fn entry(&self, directory: u32, tag: u32) -> Option<u32> {
        for i in 0..self.short(directory)? {
            let at = directory.checked_add(2 + 12 * i)?;
            if self.short(at)? != tag {
                continue;
            }
            let kind = self.short(at + 2)?;
            // Longer values are stored elsewhere.
            let fits = self.long(at + 4)? <= if kind == 3 { 2 } else { 1 };
            let place = if fits { at + 8 } else { self.long(at + 8)? };
            return match kind {
                3 => self.short(place),
                4 => self.long(place),
                _ => None,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(little: bool, tag: u16, kind: u16, value: u32) -> Vec<u8> {
        let short = |v: u16| {
            if little {
                v.to_le_bytes()
            } else {
                v.to_be_bytes()
            }
        };
        let long = |v: u32| {
            if little {
                v.to_le_bytes()
            } else {
                v.to_be_bytes()
            }
        };
        let mut data = if little { b"II*\0" } else { b"MM\0*" }.to_vec();
        data.extend(long(8));
        for (tag, kind, value) in [(0x8769, 4, 26), (tag, kind, value)] {
            data.extend(short(1));
            data.extend(short(tag));
            data.extend(short(kind));
            data.extend(long(1));
            if kind == 3 {
                data.extend(short(value as u16));
                data.extend([0; 2]);
            } else {
                data.extend(long(value));
            }
            data.extend(long(0));
        }
        data
    }

    #[test]
    fn the_speed_is_found_in_either_order_and_damage_is_none() {
        for little in [true, false] {
            assert_eq!(iso(&made(little, 0x8827, 3, 3200)), Some(3200));
            assert_eq!(iso(&made(little, 0x8832, 4, 102_400)), Some(102_400));
            assert_eq!(iso(&made(little, 0x8822, 3, 2)), None);
            let data = made(little, 0x8827, 3, 3200);
            for end in 0..data.len() {
                iso(&data[..end]);
            }
            let mut wild = data;
            wild[4..8].fill(0xff);
            assert_eq!(iso(&wild), None);
            assert_eq!(
                orientation(&made(little, 0x112, 3, 6)),
                None,
                "in the wrong directory"
            );
        }
        for turn in 1..=8 {
            assert_eq!(orientation(&turned(turn)), Some(turn));
        }
        assert_eq!(orientation(&turned(9)), None);
    }
}
