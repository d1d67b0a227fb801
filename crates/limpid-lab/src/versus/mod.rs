//! What Dammertz 2010, figure 10, compares the à-trous filter with: decimated wavelets, plain and edge-avoiding, and the
//! full bilateral and multilateral filters. They serve for comparison and are not optimised for speed.
//!
//! All share the à-trous filter's options, its division by albedo and its firefly guard.

mod definition;
mod lift;
mod lifted;
mod options;
mod window;

pub use lifted::{Cdf22, EawCdf22, EawRedBlack, RedBlack};
pub use window::{Bilateral, Multilateral};

use limpid::conformance::{Define, Examples};
use limpid::method::{Entry, Method};
use limpid::{Error, Frame, Result, recognise};

/// The methods in the list.
pub const METHODS: &[Entry] = &[
    lifted::CDF22,
    lifted::REDBLACK,
    lifted::EAW_CDF22,
    lifted::EAW_REDBLACK,
    window::BILATERAL,
    window::MULTILATERAL,
];

/// Applies the definition of one of these methods.
#[doc(hidden)]
pub fn define(method: &dyn Method, frame: &Frame) -> Result<Frame> {
    let known = recognise!(
        method,
        Define,
        [
            Bilateral,
            Cdf22,
            EawCdf22,
            EawRedBlack,
            Multilateral,
            RedBlack,
        ]
    );
    known
        .ok_or_else(|| Error::unsupported(format!("{} has no definition", method.name())))?
        .define(frame)
}

/// The settings of one of these methods that together reach every branch of it.
#[doc(hidden)]
pub fn examples(method: &dyn Method) -> Vec<Box<dyn Method>> {
    let known = recognise!(method, Examples, [Bilateral, Multilateral]);
    known.map_or_else(|| vec![method.boxed()], |method| method.examples())
}
