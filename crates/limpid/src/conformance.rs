//! What tests need of methods and programs do not: their definitions, and settings that reach every branch. Not part of the
//! stable interface.
//!
//! They are not in [`Method`], whose functions every program carries.

use crate::method::{
    Atrous, Bilateral, Camera, Chosen, Ddid, Dwt, Eaw, Ensemble, Film, Gaussian, Idwt, Method,
    Neural, Nfor, Nlm, Patch, Poisson, Rdfc, Shrink, Svgf, Taa, Tent, Tent2, Variance,
};
use crate::{Error, Frame, Result};
use std::any::Any;

/// A method with a definition in plain scalar code.
pub trait Define: Method {
    /// The definition, applied.
    fn define(&self, frame: &Frame) -> Result<Frame>;
}

/// A method with settings for tests.
pub trait Examples: Method {
    /// Settings that together reach every branch of the method.
    fn examples(&self) -> Vec<Box<dyn Method>> {
        vec![self.boxed()]
    }
}

/// A list of types, as functions that recognise a method of one of them.
#[doc(hidden)]
#[macro_export]
macro_rules! recognise {
    ($method:expr, $as:path, [$($kind:ty),* $(,)?]) => {{
        let any: &dyn ::std::any::Any = $method;
        None$(.or_else(|| any.downcast_ref::<$kind>().map(|method| method as &dyn $as)))*
    }};
}

/// Applies the definition of a method of this library.
pub fn define(method: &dyn Method, frame: &Frame) -> Result<Frame> {
    definition(method)
        .ok_or_else(|| Error::unsupported(format!("{} has no definition", method.name())))?
        .define(frame)
}

/// A method of this library, with its definition.
pub fn definition(method: &dyn Method) -> Option<&dyn Define> {
    recognise!(
        method,
        Define,
        [
            Atrous, Bilateral, Camera, Chosen, Ddid, Dwt, Eaw, Ensemble, Film, Gaussian, Idwt,
            Neural, Nfor, Nlm, Patch, Poisson, Rdfc, Shrink, Svgf, Taa, Tent, Tent2, Variance,
        ]
    )
}

/// The settings of a method of this library that together reach every branch of it; only itself for others.
pub fn examples(method: &dyn Method) -> Vec<Box<dyn Method>> {
    let known = recognise!(
        method,
        Examples,
        [
            Atrous, Bilateral, Camera, Ddid, Dwt, Eaw, Ensemble, Film, Gaussian, Idwt, Neural,
            Nfor, Nlm, Patch, Poisson, Rdfc, Shrink, Svgf, Taa, Tent, Tent2, Variance,
        ]
    );
    known.map_or_else(|| vec![method.boxed()], |method| method.examples())
}

/// A method of a known type, with what it measured in a frame.
pub fn prepared<M: Method>(method: &M, frame: &Frame) -> Result<M> {
    let made: Box<dyn Any> = method.prepared(frame)?;
    let made = made.downcast::<M>();
    let other = |_| Error::unsupported(format!("{} prepares another method", method.name()));
    made.map(|made| *made).map_err(other)
}
