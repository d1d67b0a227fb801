//! WebP: 8 bit colour and alpha. Lossy and lossless files are read, lossless files are written; profile, EXIF and XMP are
//! preserved.

use super::codec::{self, Codec, Content, Holds, Passed};
use super::raster::{Raster, Transfer, byte, check_longest, check_memory, check_size};
use image_webp::{ColorType, DecodingError, WebPDecoder, WebPEncoder};
use limpid_core::{Error, Result, memory};
use std::io::Cursor;
use std::path::Path;

/// WebP in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "WebP",
    extensions: &["webp"],
    begins: |bytes| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
    transfer: Transfer::Encoded,
    holds: Holds::Alpha,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| {
        page.file(Transfer::Encoded, |raster, kept| {
            let passed;
            let kept = match kept {
                Some(kept) => kept,
                None => {
                    passed = WebpExtras::passed(page.passed());
                    &passed
                }
            };
            write(raster, Some(kept), page.path)
        })
    },
};

/// The longest side: the header has room for one more pixel, which no reader accepts.
const LONGEST: usize = 16_383;

/// The data of a WebP file that is preserved besides its pixels.
#[derive(Debug)]
struct WebpExtras {
    lossy: bool,
    profile: Option<Vec<u8>>,
    exif: Option<Vec<u8>>,
    xmp: Option<Vec<u8>>,
}

impl WebpExtras {
    /// What a file of another format brings along.
    fn passed(passed: Passed) -> Self {
        Self {
            lossy: false,
            profile: passed.profile,
            exif: passed.exif,
            xmp: None,
        }
    }
}

impl codec::Extras for WebpExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Encoded
    }

    fn sample(&self) -> &'static str {
        "8 bit"
    }

    fn compression(&self) -> String {
        let how = if self.lossy {
            "with loss"
        } else {
            "without loss"
        };
        how.to_owned()
    }

    fn names(&self) -> Vec<String> {
        let all = [
            ("ICC profile", &self.profile),
            ("EXIF", &self.exif),
            ("XMP", &self.xmp),
        ];
        let there = all.into_iter().filter(|(_, data)| data.is_some());
        there.map(|(name, _)| name.to_owned()).collect()
    }

    fn exif(&self) -> Option<&[u8]> {
        self.exif.as_deref()
    }

    fn profile(&self) -> Option<Vec<u8>> {
        self.profile.clone()
    }
}

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, WebpExtras, Vec<String>)> {
    let fault =
        |e: DecodingError| Error::damaged(format!("{}: corrupt WebP file: {e}", path.display()));
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(fault)?;
    let (width, height) = decoder.dimensions();
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let size = check_size((width.into(), height.into(), channels as u64), limit, path)?;
    check_memory(size, channels)?;
    let mut notes = Vec::new();
    if decoder.is_animated() {
        notes.push("an animation; only its first frame is read".to_owned());
    }
    let kept = WebpExtras {
        lossy: decoder.is_lossy(),
        profile: decoder.icc_profile().map_err(fault)?,
        exif: decoder.exif_metadata().map_err(fault)?,
        xmp: decoder.xmp_metadata().map_err(fault)?,
    };
    let mut buffer = memory::zeroed::<u8>(size.pixels() * channels)?;
    match decoder.is_animated() {
        true => decoder.read_frame(&mut buffer).map(drop).map_err(fault)?,
        false => decoder.read_image(&mut buffer).map_err(fault)?,
    }
    Ok((Raster::from_bytes(size, channels, &buffer)?, kept, notes))
}

fn write(raster: &Raster<'_>, kept: Option<&WebpExtras>, path: &Path) -> Result<Vec<u8>> {
    let size = raster.size();
    check_longest(size, LONGEST, "WebP", path)?;
    let (channels, data) = raster.samples(byte)?;
    let color = match channels {
        1 => ColorType::L8,
        2 => ColorType::La8,
        3 => ColorType::Rgb8,
        _ => ColorType::Rgba8,
    };
    let mut file = Vec::new();
    let mut encoder = WebPEncoder::new(&mut file);
    if let Some(kept) = kept {
        if let Some(profile) = &kept.profile {
            encoder.set_icc_profile(profile.clone());
        }
        if let Some(exif) = &kept.exif {
            encoder.set_exif_metadata(exif.clone());
        }
        if let Some(xmp) = &kept.xmp {
            encoder.set_xmp_metadata(xmp.clone());
        }
    }
    encoder
        .encode(&data, size.width as u32, size.height as u32, color)
        .map_err(|e| {
            let path = path.display();
            Error::unsupported(format!("{path}: cannot be written as WebP: {e}"))
        })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_core::Size;

    #[test]
    fn pixels_alpha_and_metadata_come_back() {
        let samples: Vec<f32> = (0..5 * 3 * 4).map(|i| (i * 4) as f32 / 255.0).collect();
        let raster = Raster::from_interleaved(Size::new(5, 3), 4, &samples).unwrap();
        let kept = WebpExtras {
            lossy: false,
            profile: Some(b"profile!".to_vec()),
            exif: Some(b"exif".to_vec()),
            xmp: None,
        };
        let path = Path::new("a.webp");
        let file = write(&raster, Some(&kept), path).unwrap();
        let (back, again, notes) = read(&file, path, 1 << 20).unwrap();
        assert_eq!(back.samples(|v| v).unwrap(), (4, samples));
        assert_eq!(
            (again.profile, again.exif, again.xmp),
            (kept.profile, kept.exif, None)
        );
        assert!(!again.lossy && notes.is_empty());
        assert!((CODEC.begins)(&file));
        for cut in 0..file.len() {
            // Returns an error or an image, and never panics.
            let _ = read(&file[..cut], path, 1 << 20);
        }
        assert!(read(&file, path, 59).is_err());
    }

    #[test]
    fn grey_becomes_three_channels() {
        let raster = Raster::from_interleaved(Size::new(2, 1), 1, &[0.0, 1.0]).unwrap();
        let path = Path::new("a.webp");
        let (back, ..) = read(&write(&raster, None, path).unwrap(), path, 1 << 20).unwrap();
        assert_eq!(
            back.samples(|v| v).unwrap(),
            (3, vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        );
    }
}
