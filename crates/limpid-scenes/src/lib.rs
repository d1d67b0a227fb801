//! A small path tracer that produces every input that Limpid's methods use: noisy colour, two independent halves, sample
//! variances, features, motion vectors, gradients between pixels, and references.
//!
//! It is meant for test inputs, not for production. Invariants: an image depends only on scene, options and seed, not on
//! the number of threads; colour is unbiased up to the limit on bounces; each layer follows the conventions of
//! [`limpid::Kind`].
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
