//! The à-trous filter with learned guides: what the network reads, its convolutions, and the levels of the filter.

mod convolve;
mod level;
mod prepare;

pub(crate) use convolve::{Convolve, Into, Source};
pub(crate) use level::{Guided, Level};
pub(crate) use prepare::{Finish, Prepare};
