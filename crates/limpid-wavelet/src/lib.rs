//! The algebra of wavelet transforms and of the orders in which their operations can be computed.
//!
//! A wavelet is a [`Lifting`]: predict and update steps between even and odd samples. In two dimensions a step is a [`Matrix`]
//! of [`Laurent`] polynomials over quads of samples. A [`Scheme`] is a list of such matrices with barriers between them (Kula
//! 2021): few operations with many barriers, or few barriers with many operations. Both counts, and the kernels, are derived
//! from the algebra.
//!
//! Invariants: all schemes of a wavelet compute the same result.

mod boundary;
mod factor;
mod family;
mod laurent;
mod lifting;
mod parse;
mod polyphase;
mod scheme;

pub use boundary::Boundary;
#[doc(hidden)]
pub use boundary::mirrored;
#[doc(hidden)]
pub use factor::{factor, lifting_error};
pub use family::{Bank, Normalisation, Wavelet};
#[doc(hidden)]
pub use laurent::Laurent;
pub use lifting::{Lifting, Pair, Taps};
#[doc(hidden)]
pub use polyphase::{Matrix, QUAD};
#[doc(hidden)]
pub use scheme::{Direction, Form, Kind, Scheme, SchemeName};
