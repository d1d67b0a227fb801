//! Runs plans on a GPU through wgpu.
//!
//! [`Gpu`] is a device with its pipeline cache; [`Recorder`] prepares a plan for any command encoder; [`GpuRunner`] adds
//! transfers to and from images.

mod copy;
mod device;
mod layer_resources;
mod mapping;
mod pipeline;
mod ready;
mod record;
mod resource;
mod runner;
mod timeout;
mod transfer;
mod values;

pub use device::{Adapter, Gpu};
pub use layer_resources::LayerResources;
pub use record::{Bindings, Recorder};
pub use resource::Resource;
pub use runner::GpuRunner;
#[doc(hidden)]
pub use timeout::driver_has_hung;
pub use values::Values;
