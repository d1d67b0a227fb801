//! The weights of the network: a safetensors file of half floats.

use crate::{Error, Result};
use crate::{method::Backend, method::Refused, method::Value};
use limpid_reference::{
    definition::neural::Convolution, definition::neural::FORMS, definition::neural::Network,
};
use safetensors::{Dtype, SafeTensors};
use std::sync::{Arc, LazyLock, OnceLock};

/// The bundled weights, trained by `train/`.
const OWN: &[u8] = include_bytes!("../../../weights/guides.safetensors");

static LOADED: LazyLock<Option<Arc<Loaded>>> =
    LazyLock::new(|| network(OWN).ok().map(|n| Arc::new(n.into())));

/// A network with the tables for kernels, which are created once.
#[derive(Debug)]
pub struct Loaded {
    network: Network,
    tables: [[OnceLock<Arc<[u32]>>; FORMS.len()]; 2],
}

impl From<Network> for Loaded {
    fn from(network: Network) -> Self {
        Self {
            network,
            tables: Default::default(),
        }
    }
}

impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        self.network == other.network
    }
}

impl Loaded {
    /// The convolutions.
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// The table of a convolution, created by `make` on first use.
    pub(super) fn table(
        &self,
        on: Backend,
        index: usize,
        make: impl FnOnce(&Convolution) -> Vec<u32>,
    ) -> Arc<[u32]> {
        let tables = &self.tables[usize::from(on == Backend::Gpu)];
        let made = tables[index].get_or_init(|| make(&self.network[index]).into());
        made.clone()
    }
}

/// The source of the weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Weights {
    /// The bundled weights.
    #[default]
    Builtin,
    /// Weights from a file.
    File {
        /// Its path.
        path: String,
        /// Its contents.
        network: Arc<Loaded>,
    },
}

impl Weights {
    /// The network.
    pub(super) fn loaded(&self) -> Result<Arc<Loaded>> {
        match self {
            Self::Builtin => LOADED
                .clone()
                .ok_or_else(|| Error::unsupported("the library's weights cannot be read")),
            Self::File { network, .. } => Ok(network.clone()),
        }
    }

    /// Reads a file.
    pub fn read(path: &str) -> Result<Self> {
        Self::load(path).map_err(|why| Error::input(format!("{path}: {why}")))
    }

    /// Reads a file, or returns a description of what is wrong with it.
    fn load(path: &str) -> std::result::Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
        Ok(Self::File {
            path: path.into(),
            network: Arc::new(network(&bytes)?.into()),
        })
    }
}

impl Value for Weights {
    const FORM: &'static str = "builtin|FILE.safetensors";

    fn parse(text: &str) -> std::result::Result<Self, Refused> {
        match text {
            "builtin" => Ok(Self::Builtin),
            path => Self::load(path).map_err(Refused::because),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Builtin => "builtin".into(),
            Self::File { path, .. } => path.clone(),
        }
    }
}

/// Parses the network in a file, or returns a description of what is wrong with it.
fn network(bytes: &[u8]) -> std::result::Result<Network, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let tensor = |name: &str, part: &str, shape: &[usize]| {
        let name = format!("{name}.{part}");
        let tensor = file.tensor(&name).map_err(|e| e.to_string())?;
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
    };
    let mut all = Vec::new();
    for (name, inputs, outputs, side) in FORMS {
        all.push(Convolution {
            inputs,
            outputs,
            side,
            weights: tensor(name, "weight", &[outputs, inputs, side, side])?,
            bias: tensor(name, "bias", &[outputs])?,
        });
    }
    Network::try_from(all).map_err(|all| format!("{} convolutions", all.len()))
}
