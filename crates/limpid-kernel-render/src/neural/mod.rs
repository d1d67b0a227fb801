//! Networks: the à-trous filter with learned guides, with the inputs of its network, its convolutions, and the levels of the filter;
//! and a network for photographs.

mod camera;
mod convolve;
mod divide;
mod level;
mod prepare;

use limpid_plan::Element;

pub use camera::{CameraInputs, WithoutNoise};
pub use convolve::{Convolve, Into, Source};
pub use divide::Divide;
pub use level::{Guided, Level};
pub use prepare::{Finish, Prepare};

/// How four values are stored on a GPU: the type `Stored` with its functions.
fn stored(element: Element) -> &'static str {
    match element {
        Element::F16x4 => include_str!("half.wgsl"),
        _ => include_str!("full.wgsl"),
    }
}
