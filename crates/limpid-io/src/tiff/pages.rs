//! What is said of the pages of a file: copies of one image, and how programs laid them out.

use ::tiff::TiffError;
use ::tiff::decoder::Decoder;
use ::tiff::tags::Tag;
use std::io::Cursor;

/// Whether all pages after the first are smaller copies of it, or masks.
pub(crate) fn previews(bytes: &[u8]) -> Result<bool, TiffError> {
    let mut decoder = Decoder::new(Cursor::new(bytes))?;
    // A corrupt file may contain a cycle.
    const MOST: usize = 64;
    for _ in 0..MOST {
        if !decoder.more_images() {
            return Ok(true);
        }
        decoder.next_image()?;
        let kind = decoder.find_tag_unsigned::<u32>(Tag::NewSubfileType)?;
        if kind.unwrap_or(0) & 0b101 == 0 {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Whether an `ImageDescription` is not free text but describes the layout of the file (number of pages, shape, sample type),
/// as written by tifffile, ImageJ, OME and microscopes. The output has a different layout, on which their readers would fail.
pub(super) fn describes_layout(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins: [&[u8]; 7] = [
        b"{", b"<?xml", b"<OME", b"ImageJ=", b"SCIFIO=", b"shape=", b"state.",
    ];
    begins.iter().any(|b| text.starts_with(b))
}
