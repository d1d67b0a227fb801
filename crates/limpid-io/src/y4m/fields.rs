//! Frames as bytes, whole or from two fields.

use super::{Colour, Header, pixels};
use limpid_core::{Error, Image, Result};

/// Packs images into the bytes of frames: planes of luma and chroma, two bytes per sample above 8 bits.
#[derive(Debug)]
pub struct Packer {
    header: Header,
    colour: Colour,
    bytes: Vec<u8>,
    /// The header of a field, if images are fields.
    field: Option<Header>,
    /// The first field of a frame whose second has not come yet.
    first: Option<Vec<u8>>,
}

impl Packer {
    /// For whole frames.
    pub fn new(header: Header, colour: Colour) -> Self {
        Self {
            header,
            colour,
            bytes: Vec::new(),
            field: None,
            first: None,
        }
    }

    /// For fields: two images of half the height are a frame, the even rows and then the odd rows.
    pub fn fields(mut self) -> Result<Self> {
        self.field = Some(self.header.field()?);
        Ok(self)
    }

    /// The form of the frames.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The image of the bytes of a whole frame.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
    /// use limpid::{Size, io::y4m::{Colour, Header, Packer}};
    /// let header = Header::new(Size::new(2, 1), "mono", (25, 1))?;
    /// let mut packer = Packer::new(header, Colour::Encoded);
    /// let image = packer.unpack(&[16, 235])?;
    /// assert_eq!(packer.pack(&image)?, Some(&[16, 235][..]));
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn unpack(&self, bytes: &[u8]) -> Result<Image> {
        let wanted = self.header.frame_bytes();
        if bytes.len() != wanted {
            return Err(Error::mismatch(format!(
                "y4m: a frame has {wanted} bytes, not {}",
                bytes.len()
            )));
        }
        pixels::decode(&self.header, self.colour, bytes, None)
    }

    /// The bytes of a frame; `None` after a first field.
    pub fn pack(&mut self, image: &Image) -> Result<Option<&[u8]>> {
        let Some(field) = &self.field else {
            pixels::encode(&self.header, self.colour, image, &mut self.bytes)?;
            return Ok(Some(&self.bytes));
        };
        let mut bytes = Vec::new();
        pixels::encode(field, self.colour, image, &mut bytes)?;
        match self.first.take() {
            None => {
                self.first = Some(bytes);
                Ok(None)
            }
            Some(first) => {
                self.bytes = join(&self.header, [&first, &bytes]);
                Ok(Some(&self.bytes))
            }
        }
    }
}

/// The two fields of a frame.
pub(super) fn split(header: &Header, frame: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    let mut rest = frame;
    for (row, rows) in header.row_bytes() {
        let (plane, after) = rest.split_at(row * rows);
        for pair in plane.chunks_exact(2 * row) {
            even.extend(&pair[..row]);
            odd.extend(&pair[row..]);
        }
        rest = after;
    }
    (even, odd)
}

/// The frame of two fields.
fn join(header: &Header, fields: [&[u8]; 2]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(2 * fields[0].len());
    let [mut even, mut odd] = fields;
    for (row, rows) in header.row_bytes() {
        for _ in 0..rows / 2 {
            let (a, b);
            (a, even) = even.split_at(row);
            (b, odd) = odd.split_at(row);
            frame.extend(a);
            frame.extend(b);
        }
    }
    frame
}
