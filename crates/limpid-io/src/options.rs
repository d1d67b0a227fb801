//! How to read and write files.

use super::{Transfer, View};
use limpid_core::{Error, Layer, Result};

/// How to read a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Layers by their names in the file, which take precedence over known names: a layer (`ViewLayer.Normal`, or
    /// just `Normal`) or a list of channels (`n.x,n.y,n.z`).
    pub layers: Vec<(Layer, String)>,
    /// Whether a file without colour is an error; true by default.
    pub need_color: bool,
    /// Limit for the pixels of a file in bytes, 32 GiB by default.
    pub limit: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            need_color: true,
            limit: 32 << 30,
        }
    }
}

impl ReadOptions {
    /// Assigns a layer by its name in the file, like the program's `--layer normal=NAME`.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
    /// let options = limpid::io::ReadOptions::default().layer("normal=my normals")?;
    /// assert!(limpid::io::ReadOptions::default().layer("normal").is_err());
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn layer(mut self, assignment: &str) -> Result<Self> {
        let Some((layer, name)) = assignment.split_once('=') else {
            return Err(Error::input(format!(
                "'{assignment}' is not LAYER=NAME; expected something like normal=N"
            )));
        };
        self.layers
            .push((layer.trim().parse()?, name.trim().to_owned()));
        Ok(self)
    }
}

/// How to write a file. Unset options follow the file that the frame came from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Sample type of EXR files. New files have float.
    pub sample: Option<Sample>,
    /// Compression of EXR files. New files have ZIP.
    pub compression: Option<Compression>,
    /// Bits of PNG and integer TIFF files. New PNG files have 8; new TIFF files are float.
    pub bits: Option<Bits>,
    /// Quality of JPEG files, 1 … 100. New files have 95.
    pub quality: Option<u8>,
    /// Whether the colour of the frame is linear or encoded, if its origin does not specify it. Linear by default.
    pub transfer: Option<Transfer>,
    /// How linear light is shown in files of display values.
    pub view: View,
    /// Stops by which linear light is made brighter in files of display values.
    pub exposure: f32,
    /// Names and values of text attributes for EXR files, and for the description of TIFF files; [`super::Origin::text`]
    /// reads them.
    pub texts: Vec<(String, String)>,
}

/// A sample type of EXR files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sample {
    /// 16 bit.
    Half,
    /// 32 bit.
    Float,
}

/// A lossless compression of EXR files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    None,
    /// Deflate over 16 lines.
    Zip,
    /// Wavelets, suitable for grain.
    Piz,
    /// High-Throughput JPEG 2000 over 256 lines: the smallest files; OpenEXR 3.4 or later reads them.
    Htj2k,
}

/// Bits per sample of integer formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bits {
    /// 8 bit.
    Eight,
    /// 16 bit.
    Sixteen,
}
