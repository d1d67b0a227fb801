//! Networks: the à-trous filter with learned guides, with the inputs of its network, its convolutions, and the levels of the filter;
//! and a network for photographs.

pub mod around;
mod camera;
mod convolve;
mod divide;
mod level;
mod prepare;

pub use camera::{CameraInputs, WithoutNoise};
pub use convolve::{Convolve, Into, Source};
pub use divide::Divide;
pub use level::{Guided, Level};
pub use prepare::{Finish, Prepare};
