//! A small path tracer that makes every input Limpid's methods ask for: noisy colour, two independent halves, sample
//! variances, features, motion vectors, gradients between pixels, and references.
//!
//! It is a source of inputs, not a product renderer. What always holds: a picture is a function of scene, options and seed,
//! whatever the number of threads; colour is unbiased up to the limit on bounces; each layer means what
//! [`limpid::Kind`] says.
//!
//! ```
//! use limpid::Size;
//! use limpid_scenes::{Options, builtin, render};
//! let options = Options { size: Size::new(32, 32), samples: 4, ..Options::default() };
//! let frame = render(&builtin("glossy", 0)?, &options)?;
//! # Ok::<(), limpid::Error>(())
//! ```

mod basis;
mod bsdf;
mod builtin;
mod camera;
mod gather;
mod gradient;
mod light;
mod material;
mod mesh;
mod path;
mod random;
mod render;
mod scene;
mod sky;
mod vertex;
mod world;

pub use builtin::{BUILTIN, builtin, builtin_world};
pub use camera::Camera;
pub use glam;
pub use material::{Material, Texture};
pub use mesh::Mesh;
pub use render::{BATCH, Estimate, Options, Render, render, sample_pixels};
pub use scene::Scene;
pub use sky::{Sky, Sun};
pub use world::{Object, World};
