//! What users of the methods count on. One program for all: what its parts share is compiled once, and they run side by side.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/walk.rs"]
mod walk;

mod atrous;
mod conformance;
mod ddid;
mod dwt;
mod eaw;
mod film;
mod neural;
mod nfor;
mod noise;
mod patch;
mod plan_forms;
mod poisson;
mod property;
mod rdfc;
#[cfg(feature = "gpu")]
mod recorder;
mod sequence;
mod svgf;
mod taa;
