//! Pictures: layers, and the file they came from.

use crate::Outcome;
use limpid::io::{self, Bits, Format, Origin, ReadOptions, Transfer, WriteOptions};
use limpid::metric::{self, Space};
use limpid::{Frame, Image, Layer, Result, Size};
use std::path::Path;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// Limit for the pixels of a file: WebAssembly has 4 GiB of memory.
const LIMIT: u64 = 1 << 30;

/// Layers of one size, with what else their file held.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Picture {
    pub(crate) frame: Arc<Frame>,
    pub(crate) origin: Option<Origin>,
    pub(crate) transfer: Transfer,
    notes: Vec<String>,
    curve: [f32; 2],
}

impl Picture {
    /// A result in place of this picture.
    pub(crate) fn with_frame(&self, frame: Frame) -> Self {
        Self {
            frame: Arc::new(frame),
            origin: self.origin.clone(),
            transfer: self.transfer,
            notes: Vec::new(),
            curve: [0.0, 1.0],
        }
    }

    fn space(&self) -> Space {
        match self.transfer {
            Transfer::Linear => Space::Linear,
            Transfer::Encoded => Space::Display,
        }
    }

    fn read(bytes: Vec<u8>, name: &str) -> Result<Self> {
        let mut options = ReadOptions::default();
        options.limit = LIMIT;
        let picture = io::decode(bytes, name, &options)?;
        Ok(Self {
            transfer: picture.origin.transfer(),
            frame: Arc::new(picture.frame),
            origin: Some(picture.origin),
            notes: picture.notes,
            curve: [0.0, 1.0],
        })
    }

    fn insert(&mut self, layer: &str, channels: usize, values: &[f32]) -> Result<()> {
        let layer: Layer = layer.parse()?;
        let Size { width, height } = self.frame.size();
        let image = Image::from_interleaved(width, height, channels, values)?;
        Arc::make_mut(&mut self.frame).insert(layer, image)
    }

    fn image(&self, layer: &str) -> Result<&Image> {
        self.frame.require(layer.parse::<Layer>()?)
    }

    fn written(&self, format: &str, bits: u8, exposure: f32) -> Result<Vec<u8>> {
        let format = Format::from_path(Path::new(&format!("picture.{format}")))?;
        let mut options = WriteOptions::default();
        options.transfer = Some(self.transfer);
        options.exposure = exposure;
        options.bits = match bits {
            8 => Some(Bits::Eight),
            16 => Some(Bits::Sixteen),
            _ => None,
        };
        match &self.origin {
            Some(origin) => Ok(io::encode_like(format, &self.frame, origin, &options)?.0),
            None => io::encode(format, &self.frame, &options),
        }
    }

    /// Every pixel of every so many columns and rows: at most so many pixels of the colour.
    fn thinned(&self, most: usize) -> Result<Frame> {
        let color = self.frame.color()?;
        let Size { width, height } = color.size();
        let fits = |step: &usize| width.div_ceil(*step) * height.div_ceil(*step) <= most.max(1);
        let step = (1..=width.max(height)).find(fits).unwrap_or(1);
        let (columns, rows) = (width.div_ceil(step), height.div_ceil(step));
        Frame::new(Image::from_fn(
            columns,
            rows,
            color.channels(),
            |x, y, c| color.get(x * step, y * step, c),
        ))
    }

    fn scores(&self, reference: &Self) -> Result<String> {
        let options = metric::Options::new(self.space());
        let found = metric::compare(self.frame.color()?, reference.frame.color()?, &options)?;
        let columns = metric::page::COLUMNS.iter();
        let scores = columns.map(|(name, value, _)| {
            let text = metric::page::number(value(&found.scores));
            serde_json::json!([name, text])
        });
        Ok(serde_json::Value::from_iter(scores).to_string())
    }
}

#[wasm_bindgen]
impl Picture {
    /// A picture without layers. Its colour is linear light, or encoded as in PNG files.
    #[wasm_bindgen(constructor)]
    pub fn new(width: usize, height: usize, encoded: bool) -> Outcome<Picture> {
        let frame = Frame::empty(Size::new(width, height))?;
        Ok(Self {
            frame: Arc::new(frame),
            origin: None,
            transfer: match encoded {
                true => Transfer::Encoded,
                false => Transfer::Linear,
            },
            notes: Vec::new(),
            curve: [0.0, 1.0],
        })
    }

    /// Reads a file: EXR, PNG, JPEG, HDR, TIFF, DNG, WebP, PFM.
    pub fn decode(bytes: Vec<u8>, name: &str) -> Outcome<Picture> {
        Ok(Self::read(bytes, name)?)
    }

    /// Encodes it as `exr`, `png`, `jpg`, …; `bits` is 8, 16, or 0 for those of the origin. `exposure` in stops, for files of
    /// display values.
    pub fn encode(&self, format: &str, bits: u8, exposure: f32) -> Outcome<Vec<u8>> {
        Ok(self.written(format, bits, exposure)?)
    }

    /// Sets a layer from values whose channels lie side by side.
    pub fn set(&mut self, layer: &str, channels: usize, values: &[f32]) -> Outcome<()> {
        Ok(self.insert(layer, channels, values)?)
    }

    /// The values of a layer, channels side by side.
    pub fn get(&self, layer: &str) -> Outcome<Vec<f32>> {
        let image = self.image(layer)?;
        Ok(image.to_interleaved())
    }

    /// How many channels a layer has.
    pub fn channels(&self, layer: &str) -> Outcome<usize> {
        let image = self.image(layer)?;
        Ok(image.channels())
    }

    /// The names of its layers.
    #[wasm_bindgen(getter)]
    pub fn layers(&self) -> Vec<String> {
        self.frame.layers().map(|(l, _)| l.to_string()).collect()
    }

    /// Width in pixels.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> usize {
        self.frame.size().width
    }

    /// Height in pixels.
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> usize {
        self.frame.size().height
    }

    /// Whether its colour is encoded as in PNG files; otherwise it is linear light.
    #[wasm_bindgen(getter)]
    pub fn encoded(&self) -> bool {
        self.transfer == Transfer::Encoded
    }

    /// Notes on the file: choices among layers, things that are not kept.
    #[wasm_bindgen(getter)]
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// What the viewer shows: four bytes for each pixel on a curve; see [`Picture::curve`].
    pub fn viewed(&mut self) -> Outcome<Vec<u8>> {
        let (bytes, toe, top) = metric::page::coded(self.frame.color()?, self.space());
        self.curve = [toe, top];
        Ok(bytes)
    }

    /// The toe and the top of the curve of what was viewed last.
    #[wasm_bindgen(getter)]
    pub fn curve(&self) -> Vec<f32> {
        self.curve.to_vec()
    }

    /// This result of an input with a share of the change of luminance and of colour.
    pub fn blended(&self, input: &Picture, luminance: f32, chroma: f32) -> Picture {
        let mut frame = Frame::clone(&self.frame);
        limpid::blend(&input.frame, &mut frame, [luminance, chroma]);
        self.with_frame(frame)
    }

    /// The same of a part of the pixels, at most so many, and of the colour only: for pictures that follow a slider.
    pub fn preview(
        &self,
        input: &Picture,
        luminance: f32,
        chroma: f32,
        most: usize,
    ) -> Outcome<Picture> {
        let mut frame = self.thinned(most)?;
        limpid::blend(&input.thinned(most)?, &mut frame, [luminance, chroma]);
        Ok(self.with_frame(frame))
    }

    /// The errors against a reference, as JSON: pairs of name and text.
    pub fn compare(&self, reference: &Picture) -> Outcome<String> {
        Ok(self.scores(reference)?)
    }
}
