//! Networks: their weights in safetensors files, and their passes.

mod build;

pub(crate) use build::Build;

use super::Backend;
use limpid_reference::definition::network::{Convolution, Form, Network, TURNS};
use safetensors::{Dtype, SafeTensors};
use std::sync::{Arc, OnceLock};

/// How many mirrored and turned networks quality best uses.
pub(crate) const BEST_TURNS: usize = 4;

/// A network with the tables for kernels, which are created once.
#[derive(Debug)]
pub struct Loaded {
    network: Network,
    /// The network mirrored and turned; the first is the network itself.
    turned: [OnceLock<TurnedNetwork>; TURNS],
}

/// A mirrored and turned network, with a table for each convolution on the CPU and on a GPU.
#[derive(Debug)]
struct TurnedNetwork {
    network: Network,
    tables: [Vec<OnceLock<Arc<[u32]>>>; 2],
}

impl From<Network> for Loaded {
    fn from(network: Network) -> Self {
        Self {
            network,
            turned: Default::default(),
        }
    }
}

impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        self.network == other.network
    }
}

impl Loaded {
    /// The form of the network.
    pub(crate) fn form(&self) -> Form {
        self.network.form
    }

    fn turn(&self, turn: usize) -> &TurnedNetwork {
        self.turned[turn % TURNS].get_or_init(|| {
            let layers = self.network.layers.len();
            let tables = || (0..layers).map(|_| OnceLock::new()).collect();
            TurnedNetwork {
                network: self.network.turned(turn),
                tables: [tables(), tables()],
            }
        })
    }

    /// The network, mirrored and turned in one of the [`TURNS`].
    pub(crate) fn turned(&self, turn: usize) -> &Network {
        &self.turn(turn).network
    }

    /// The table of a convolution of it, created by `make` on first use.
    pub(crate) fn table(
        &self,
        turn: usize,
        on: Backend,
        index: usize,
        make: impl FnOnce(&Convolution) -> Vec<u32>,
    ) -> Arc<[u32]> {
        let TurnedNetwork { network, tables } = self.turn(turn);
        let tables = &tables[usize::from(on == Backend::Gpu)];
        let made = tables[index].get_or_init(|| make(&network.layers[index]).into());
        made.clone()
    }
}

/// Reads a tensor, or returns a description of what is wrong with it.
pub(crate) fn tensor(
    file: &SafeTensors<'_>,
    name: &str,
    shape: &[usize],
) -> Result<Vec<f32>, String> {
    let tensor = file.tensor(name).map_err(|e| e.to_string())?;
    if tensor.shape() != shape {
        return Err(format!("{name} is {:?}, not {shape:?}", tensor.shape()));
    }
    let values: Vec<f32> = match tensor.dtype() {
        Dtype::F16 => {
            let halves = tensor.data().as_chunks::<2>().0.iter();
            halves
                .map(|b| half::f16::from_le_bytes(*b).to_f32())
                .collect()
        }
        Dtype::F32 => {
            let words = tensor.data().as_chunks::<4>().0.iter();
            // Rounds to half precision, which GPUs use, so that all devices compute with the same weights.
            let rounded = |v: f32| half::f16::from_f32(v).to_f32();
            words.map(|b| rounded(f32::from_le_bytes(*b))).collect()
        }
        other => return Err(format!("{name} holds {other:?}, not F16 or F32")),
    };
    match values.iter().all(|v| v.is_finite()) {
        true => Ok(values),
        false => Err(format!("{name} has values that are not finite")),
    }
}

/// Reads the network in a file, or returns a description of what is wrong with it.
pub(crate) fn network(file: &SafeTensors<'_>, form: Form) -> Result<Network, String> {
    network_of(file, "", form)
}

/// Reads one of several networks in a file: that whose names begin so.
pub(crate) fn network_of(file: &SafeTensors<'_>, of: &str, form: Form) -> Result<Network, String> {
    let mut layers = Vec::new();
    for (name, inputs, outputs, side) in form.shapes() {
        let weight = [outputs, inputs, side, side];
        layers.push(Convolution {
            inputs,
            outputs,
            side,
            weights: tensor(file, &format!("{of}{name}.weight"), &weight)?,
            bias: tensor(file, &format!("{of}{name}.bias"), &[outputs])?,
        });
    }
    Ok(Network { form, layers })
}

/// Maps have whole matrices of planes, and no more than this.
const PLANES: [usize; 2] = [16, 512];

/// How many outputs a convolution in a file has.
pub(crate) fn outputs(file: &SafeTensors<'_>, name: &str) -> Result<usize, String> {
    let tensor = file.tensor(&format!("{name}.bias"));
    let tensor = tensor.map_err(|e| e.to_string())?;
    Ok(tensor.shape().iter().product::<usize>())
}

/// The planes of the maps of the network in a file, and whether its middle levels have a second convolution.
pub(crate) fn widths(file: &SafeTensors<'_>) -> Result<([usize; 4], bool), String> {
    widths_of(file, "")
}

/// The same of one of several networks.
pub(crate) fn widths_of(file: &SafeTensors<'_>, of: &str) -> Result<([usize; 4], bool), String> {
    let [least, most] = PLANES;
    let mut widths = [0; 4];
    for (width, name) in widths.iter_mut().zip(["enc1a", "enc2", "enc3", "enc4"]) {
        *width = outputs(file, &format!("{of}{name}"))?;
        if !width.is_multiple_of(least) || !(least..=most).contains(width) {
            return Err(format!(
                "{name} has {width} outputs; they must be a multiple of {least}, at most {most}"
            ));
        }
    }
    let deep = ["enc2b.bias", "enc3b.bias"]
        .iter()
        .any(|name| file.tensor(&format!("{of}{name}")).is_ok());
    Ok((widths, deep))
}
