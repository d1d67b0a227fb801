//! The memory of a plan's inputs and outputs, by layer.

use super::Resource;
use limpid_core::{Error, Layer, Result};
use limpid_plan::{Plan, Role, SlotId};

/// The buffers and textures that a plan reads and writes, by [`Layer`]; passed to [`super::Recorder::bind`].
///
/// ```no_run
/// # mod limpid { pub use limpid_core::*; pub use limpid_exec::*; pub mod exec { pub use limpid_exec::*; } }
/// use limpid::{Kind, exec::gpu::LayerResources, wgpu};
/// # fn ports(noisy: &wgpu::TextureView, normal: &wgpu::TextureView, clean: &wgpu::TextureView) -> LayerResources {
/// LayerResources::default()
///     .input(Kind::Color, noisy)
///     .input(Kind::Normal, normal)
///     .output(Kind::Color, clean)
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct LayerResources {
    inputs: Vec<(Layer, Resource)>,
    outputs: Vec<(Layer, Resource)>,
}

impl LayerResources {
    /// Sets the memory that a layer is read from.
    #[must_use]
    pub fn input(mut self, layer: impl Into<Layer>, memory: impl Into<Resource>) -> Self {
        self.inputs.push((layer.into(), memory.into()));
        self
    }

    /// Sets the memory that a layer is written to.
    #[must_use]
    pub fn output(mut self, layer: impl Into<Layer>, memory: impl Into<Resource>) -> Self {
        self.outputs.push((layer.into(), memory.into()));
        self
    }

    /// The memory of a slot.
    pub(super) fn of(&self, plan: &Plan, id: SlotId) -> Result<Resource> {
        let (ports, layer, call) = match &plan.at(id).role {
            Role::Input(layer) => (&self.inputs, layer, "input"),
            Role::Output(layer) => (&self.outputs, layer, "output"),
            _ => return Err(Error::input("only inputs and outputs are bound")),
        };
        let found = ports.iter().find(|(l, _)| l == layer);
        found.map(|(_, memory)| memory.clone()).ok_or_else(|| {
            Error::missing(
                layer.clone(),
                format!("the plan needs it: add it with LayerResources::{call}"),
            )
        })
    }

    /// Refuses layers that the plan does not have, which would otherwise be ignored silently.
    pub(super) fn check(&self, plan: &Plan) -> Result<()> {
        let inputs: Vec<&Layer> = layers(plan, |role| match role {
            Role::Input(layer) => Some(layer),
            _ => None,
        });
        let outputs: Vec<&Layer> = layers(plan, |role| match role {
            Role::Output(layer) => Some(layer),
            _ => None,
        });
        for (given, known, what) in [
            (&self.inputs, inputs, "input"),
            (&self.outputs, outputs, "output"),
        ] {
            if let Some((layer, _)) = given.iter().find(|(l, _)| !known.contains(&l)) {
                let names: Vec<String> = known.iter().map(ToString::to_string).collect();
                return Err(Error::unknown(
                    &format!("{what} of the plan"),
                    &layer.to_string(),
                    names.iter().map(String::as_str),
                ));
            }
        }
        Ok(())
    }
}

fn layers<'p>(plan: &'p Plan, of: impl Fn(&'p Role) -> Option<&'p Layer>) -> Vec<&'p Layer> {
    plan.slots().iter().filter_map(|s| of(&s.role)).collect()
}
