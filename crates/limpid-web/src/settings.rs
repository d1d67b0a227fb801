//! How to run a method.

use limpid::method::{Auto, Method, Use, find};
use limpid::{Options, Result, Size};
use wasm_bindgen::prelude::*;

/// Limit for the memory of a plan. Larger pictures are processed in tiles.
const MEMORY: u64 = 1 << 30;

/// How to run a method.
#[wasm_bindgen]
#[derive(Debug, Clone, Default)]
pub struct Settings {
    given: Vec<(String, String)>,
    strength: f32,
    tile: Option<usize>,
    schedule: Option<String>,
    frames: bool,
    linear: bool,
    extent: Option<[usize; 2]>,
}

#[wasm_bindgen]
impl Settings {
    /// Default options, for a single picture of encoded colour.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self {
            strength: 1.0,
            ..Self::default()
        }
    }

    /// Sets an option of the method by name.
    pub fn set(&mut self, name: String, value: String) {
        self.given.push((name, value));
    }

    /// How much of the change to apply, 0 … 1.
    pub fn strength(&mut self, strength: f32) {
        self.strength = strength;
    }

    /// The longest side of a tile.
    pub fn tile(&mut self, tile: usize) {
        self.tile = Some(tile);
    }

    /// The schedule, by name.
    pub fn schedule(&mut self, name: String) {
        self.schedule = Some(name);
    }

    /// The width and the height, where nothing else says them.
    pub fn extent(&mut self, width: usize, height: usize) {
        self.extent = Some([width, height]);
    }

    /// Whether frames form a sequence, and whether colour is linear light.
    pub fn kind(&mut self, frames: bool, linear: bool) {
        (self.frames, self.linear) = (frames, linear);
    }
}

impl Settings {
    /// Options of the method by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.given.iter().map(|(n, v)| (&**n, &**v))
    }

    /// The size that was set.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(dead_code, reason = "for textures and buffers")
    )]
    pub(crate) fn size(&self) -> Option<Size> {
        self.extent.map(|[width, height]| Size::new(width, height))
    }

    /// The options of a method, which `auto` chooses by the layers.
    pub(crate) fn options(&self, method: &str) -> Result<Options> {
        let auto = match self.frames {
            true => Auto::sequence(),
            false => Auto::default(),
        };
        let mut method: Box<dyn Method> = match method {
            "auto" if self.linear => Box::new(auto.scene_linear()),
            "auto" => Box::new(auto),
            name => find(Use::Denoise, name)?,
        };
        method.set_all(self.given())?;
        let mut options = Options::of(method);
        options.strength = self.strength;
        options.tile = self.tile;
        options.memory = Some(MEMORY);
        if let Some(name) = &self.schedule {
            options.schedule = name.as_str().into();
        }
        Ok(options)
    }
}
