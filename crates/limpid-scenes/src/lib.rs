//! A small path tracer that makes every input Limpid's methods ask for: noisy colour, two independent halves, sample
//! variances, features, motion vectors, gradients between pixels, and references.
//!
//! It is a source of inputs, not a product renderer. Invariants: a picture is a function of scene, options and seed,
//! whatever the number of threads; colour is unbiased up to the limit on bounces; each layer means what
//! [`limpid::Kind`] says.
//!
//! ```
//! use limpid::Size;
//! use limpid_scenes::{RenderOptions, builtin, render};
//! let options = RenderOptions { size: Size::new(32, 32), samples: 4, ..RenderOptions::default() };
//! let frame = render(&builtin("glossy", 0)?, &options)?;
//! # Ok::<(), limpid::Error>(())
//! ```

mod adaptive;
mod basis;
mod bsdf;
mod builtin;
mod camera;
mod gather;
mod gradient;
mod light;
mod material;
mod mesh;
mod obj;
mod path;
mod random;
mod render;
mod resume;
mod scene;
mod sky;
mod vertex;
mod world;

pub use adaptive::{Adaptive, allot};
pub use builtin::{BUILTIN, builtin, builtin_world};
pub use camera::Camera;
pub use glam;
pub use material::{Material, Texture};
pub use mesh::Mesh;
pub use obj::read_obj;
pub use render::{BATCH, Estimate, Render, RenderOptions, render, sample_pixels};
pub use scene::Scene;
pub use sky::{Sky, Sun};
pub use world::{Object, World};
