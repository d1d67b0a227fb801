//! YUV4MPEG2: uncompressed video as a stream, which video programs exchange through pipes.
//!
//! [`Reader`] and [`Writer`] handle one frame at a time, so that a film of any length needs memory for only a few frames.
//! Samples have 8 to 16 bits; frames are grey, or colour with any common chroma sampling.
//!
//! ```
//! # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
//! use limpid::io::y4m::{Colour, Header, Reader, Writer};
//! let film = [&b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\n"[..], &[16, 235]].concat();
//! let mut reader = Reader::new(&film[..], Colour::Encoded)?;
//! let mut writer = Writer::new(Vec::new(), reader.header().clone(), Colour::Encoded)?;
//! while let Some(image) = reader.next_image()? {
//!     writer.write(&image)?;
//! }
//! assert_eq!(writer.finish()?, film);
//! # Ok::<(), limpid::Error>(())
//! ```

mod fields;
mod header;
mod pixels;

pub use fields::Packer;
pub use header::{Chroma, Header, Matrix};

use limpid_core::{Error, Image, Result};
use std::io::{Read, Write};

/// The meaning of the channels of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Colour {
    /// Red, green and blue, or grey, 0 … 1, encoded as in PNG files.
    Encoded,
    /// Luma and two chroma differences as stored, 0 … 1.
    Stored,
}

/// Reads a film frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    header: Header,
    colour: Colour,
    bytes: Vec<u8>,
    /// The header of a field, if images are fields.
    field: Option<Header>,
    /// The second field of the frame that was read last.
    second: Vec<u8>,
}

/// The longest line that is accepted.
const LINE: usize = 4096;

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut from: R, colour: Colour) -> Result<Self> {
        let line = line(&mut from)?.ok_or_else(|| Error::input("y4m: the film is empty"))?;
        let header = Header::parse(&line)?;
        Ok(Self {
            bytes: Vec::new(),
            from,
            header,
            colour,
            field: None,
            second: Vec::new(),
        })
    }

    /// The same film as fields: each frame gives two images of half its height, the even rows and then the odd rows.
    pub fn fields(mut self) -> Result<Self> {
        self.field = Some(self.header.field()?);
        Ok(self)
    }

    /// The same film with these weights of the colours in luma.
    #[must_use]
    pub fn with_matrix(mut self, matrix: Matrix) -> Self {
        self.header.matrix = matrix;
        self
    }

    /// Size, rate and form of the frames.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next frame; `None` after the last one.
    pub fn next_image(&mut self) -> Result<Option<Image>> {
        self.next_in(None)
    }

    /// The same, reusing the memory of another image if it has the right size and number of channels.
    pub fn next_in(&mut self, memory: Option<Image>) -> Result<Option<Image>> {
        if let (Some(field), false) = (&self.field, self.second.is_empty()) {
            let image = pixels::decode(field, self.colour, &self.second, memory);
            self.second.clear();
            return image.map(Some);
        }
        match line(&mut self.from)? {
            None => return Ok(None),
            Some(line) if line == "FRAME" || line.starts_with("FRAME ") => {}
            Some(line) => {
                let start: String = line.chars().take(20).collect();
                return Err(Error::input(format!(
                    "y4m: expected FRAME, found '{start}'"
                )));
            }
        }
        // Memory grows with the received data: a header alone may announce gigabytes.
        let wanted = self.header.frame_bytes();
        self.bytes.clear();
        let mut frame = self.from.by_ref().take(wanted as u64);
        let read = frame.read_to_end(&mut self.bytes);
        match read {
            Ok(found) if found == wanted => {}
            Ok(found) => {
                return Err(Error::damaged(format!(
                    "y4m: the last frame is incomplete: {found} of {wanted} bytes"
                )));
            }
            Err(e) => return Err(Error::input(format!("y4m: {e}"))),
        }
        let Some(field) = &self.field else {
            return pixels::decode(&self.header, self.colour, &self.bytes, memory).map(Some);
        };
        let first;
        (first, self.second) = fields::split(&self.header, &self.bytes);
        pixels::decode(field, self.colour, &first, memory).map(Some)
    }
}

/// A line without its terminator; `None` at the end of the stream.
fn line(from: &mut impl Read) -> Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) if line.len() < LINE => line.push(byte[0]),
            Ok(_) => return Err(Error::input("y4m: this is not a YUV4MPEG2 stream")),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::input(format!("y4m: {e}"))),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Writes a film frame by frame.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    packer: Packer,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut to: W, header: Header, colour: Colour) -> Result<Self> {
        writeln!(to, "{header}").map_err(failed)?;
        let packer = Packer::new(header, colour);
        Ok(Self { to, packer })
    }

    /// Takes fields: two images of half the height are a frame, the even rows and then the odd rows.
    pub fn fields(mut self) -> Result<Self> {
        self.packer = self.packer.fields()?;
        Ok(self)
    }

    /// Writes the next frame or field.
    pub fn write(&mut self, image: &Image) -> Result<()> {
        if let Some(bytes) = self.packer.pack(image)? {
            self.to.write_all(b"FRAME\n").map_err(failed)?;
            self.to.write_all(bytes).map_err(failed)?;
        }
        Ok(())
    }

    /// Flushes the stream and returns it.
    pub fn finish(mut self) -> Result<W> {
        self.to.flush().map_err(failed)?;
        Ok(self.to)
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("y4m", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn film(header: &str, frames: &[&[u8]]) -> Vec<u8> {
        let mut bytes = format!("{header}\n").into_bytes();
        for frame in frames {
            bytes.extend(b"FRAME\n");
            bytes.extend(*frame);
        }
        bytes
    }

    #[test]
    fn stored_samples_come_back() {
        for (header, frame) in [
            ("YUV4MPEG2 W3 H2 F30:1 C444", 18),
            ("YUV4MPEG2 W3 H3 F30000:1001 Ip A1:1 C420jpeg", 17),
            ("YUV4MPEG2 W4 H2 F25:1 C422p10", 32),
            ("YUV4MPEG2 W2 H2 F25:1 Cmono16", 8),
            ("YUV4MPEG2 W5 H2 F25:1 C411", 18),
        ] {
            let data: Vec<u8> = (0..frame)
                .map(|i| {
                    if header.contains("p10") {
                        if i % 2 == 1 { 2 } else { i as u8 }
                    } else {
                        (i * 13 + 20) as u8
                    }
                })
                .collect();
            let bytes = film(header, &[&data, &data]);
            let mut reader = Reader::new(&bytes[..], Colour::Stored).unwrap();
            let mut writer =
                Writer::new(Vec::new(), reader.header().clone(), Colour::Stored).unwrap();
            let mut count = 0;
            while let Some(image) = reader.next_image().unwrap() {
                writer.write(&image).unwrap();
                count += 1;
            }
            let back = writer.finish().unwrap();
            assert_eq!(count, 2);
            // Subsampled chroma is interpolated and averaged; flat parts are restored exactly.
            if header.contains("C444") || header.contains("mono") {
                assert_eq!(back, bytes, "{header}");
            } else {
                assert_eq!(back.len(), bytes.len(), "{header}");
            }
        }
    }

    #[test]
    fn fields_are_every_second_row() {
        let header = "YUV4MPEG2 W2 H4 F25:1 It C420";
        let data = [1, 1, 2, 2, 3, 3, 4, 4, 10, 20, 30, 40];
        let bytes = film(header, &[&data, &data]);
        let mut reader = (Reader::new(&bytes[..], Colour::Stored).unwrap())
            .fields()
            .unwrap();
        assert!(reader.header().is_interlaced());
        let writer = Writer::new(Vec::new(), reader.header().clone(), Colour::Stored).unwrap();
        let mut writer = writer.fields().unwrap();
        let mut seen = Vec::new();
        while let Some(image) = reader.next_image().unwrap() {
            assert_eq!((image.size().width, image.size().height), (2, 2));
            seen.push([image.get(0, 0, 0), image.get(0, 1, 0), image.get(0, 1, 1)]);
            writer.write(&image).unwrap();
        }
        let whole = |v: f32| (v * 255.0).round();
        let seen: Vec<_> = seen.iter().map(|v| v.map(whole)).collect();
        assert_eq!(seen[..2], [[1.0, 3.0, 10.0], [2.0, 4.0, 20.0]]);
        assert_eq!(seen.len(), 4);
        assert_eq!(writer.finish().unwrap(), bytes);
        let odd = film("YUV4MPEG2 W2 H6 F25:1 It C420", &[]);
        let odd = Reader::new(&odd[..], Colour::Stored).unwrap().fields();
        assert!(odd.unwrap_err().to_string().contains("multiple of 4"));
    }

    #[test]
    fn colours_come_back() {
        let data: Vec<u8> = vec![81, 145, 41, 210, 90, 54, 240, 110, 240, 34, 110, 146];
        let bytes = film("YUV4MPEG2 W4 H1 F25:1 C444", &[&data]);
        let mut reader = Reader::new(&bytes[..], Colour::Encoded).unwrap();
        let mut writer = Writer::new(Vec::new(), reader.header().clone(), Colour::Encoded).unwrap();
        let image = reader.next_image().unwrap().unwrap();
        // The first pixel is pure red in BT.601.
        assert!((image.get(0, 0, 0) - 1.0).abs() < 0.02 && image.get(0, 0, 1).abs() < 0.02);
        writer.write(&image).unwrap();
        assert_eq!(writer.finish().unwrap(), bytes);
    }

    #[test]
    fn damaged_films_are_refused() {
        for (film, part) in [
            (&b""[..], "empty"),
            (b"RIFF", "YUV4MPEG2"),
            (b"YUV4MPEG2 W2 F1:1\n", "size"),
            (b"YUV4MPEG2 W999999999 H999999999 F1:1\n", "size"),
            (b"YUV4MPEG2 W2 H2 F1:1 C411x\n", "C411x"),
            (b"YUV4MPEG2 W2 H2 F1:1 Cmono\nFRAME\n123", "incomplete"),
            (b"YUV4MPEG2 W2 H2 F1:1 Cmono\nFRAMES\n1234", "FRAME"),
        ] {
            let read = Reader::new(film, Colour::Encoded).and_then(|mut r| r.next_image());
            let error = read.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
