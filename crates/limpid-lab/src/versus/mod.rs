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

use limpid::method::Entry;

/// The methods in the list.
pub const METHODS: &[Entry] = &[
    lifted::CDF22,
    lifted::REDBLACK,
    lifted::EAW_CDF22,
    lifted::EAW_REDBLACK,
    window::BILATERAL,
    window::MULTILATERAL,
];
