//! The weights of the network: a safetensors file of half floats.

use super::Quality;
use crate::method::{Backend, Refused, Value};
use crate::{Error, Result};
use limpid_reference::definition::network::{Convolution, Form, Network, TURNS};
use limpid_reference::definition::neural::OUTPUTS;
use safetensors::{Dtype, SafeTensors};
use std::sync::{Arc, LazyLock, OnceLock};

/// The bundled weights of the usual network, trained by `train/`.
static GOOD: LazyLock<Option<Arc<Loaded>>> =
    LazyLock::new(|| own(include_bytes!("../../../weights/guides.safetensors")));

/// Those of the larger network.
#[cfg(feature = "best-weights")]
const BUNDLED: Option<&[u8]> = Some(include_bytes!("../../../weights/best.safetensors"));
#[cfg(not(feature = "best-weights"))]
const BUNDLED: Option<&[u8]> = None;

/// The larger network: bundled, or installed.
static BEST: OnceLock<Arc<Loaded>> = OnceLock::new();

fn best() -> Option<Arc<Loaded>> {
    if BEST.get().is_none()
        && let Some(loaded) = BUNDLED.and_then(own)
    {
        // Another thread may have been faster.
        let _ = BEST.set(loaded);
    }
    BEST.get().cloned()
}

fn own(bytes: &[u8]) -> Option<Arc<Loaded>> {
    network(bytes).ok().map(|n| Arc::new(n.into()))
}

/// A network with the tables for kernels, which are created once.
#[derive(Debug)]
pub struct Loaded {
    network: Network,
    /// The network mirrored and turned; the first is the network itself.
    turned: [OnceLock<Turned>; TURNS],
}

/// A mirrored and turned network, with a table for each convolution on the CPU and on a GPU.
#[derive(Debug)]
struct Turned {
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
    pub(super) fn form(&self) -> Form {
        self.network.form
    }

    fn turn(&self, turn: usize) -> &Turned {
        self.turned[turn % TURNS].get_or_init(|| {
            let layers = self.network.layers.len();
            let tables = || (0..layers).map(|_| OnceLock::new()).collect();
            Turned {
                network: self.network.turned(turn),
                tables: [tables(), tables()],
            }
        })
    }

    /// The network, mirrored and turned in one of the [`TURNS`].
    pub(super) fn turned(&self, turn: usize) -> &Network {
        &self.turn(turn).network
    }

    /// The table of a convolution of it, created by `make` on first use.
    pub(super) fn table(
        &self,
        turn: usize,
        on: Backend,
        index: usize,
        make: impl FnOnce(&Convolution) -> Vec<u32>,
    ) -> Arc<[u32]> {
        let Turned { network, tables } = self.turn(turn);
        let tables = &tables[usize::from(on == Backend::Gpu)];
        let made = tables[index].get_or_init(|| make(&network.layers[index]).into());
        made.clone()
    }
}

/// The source of the weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Weights {
    /// The bundled weights of the chosen quality.
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
    /// The network; if it is a bundled one, that of the quality.
    pub(super) fn loaded(&self, quality: Quality) -> Result<Arc<Loaded>> {
        match self {
            Self::Builtin if quality == Quality::Best => best().ok_or_else(|| {
                Error::unsupported(
                    "the larger network, which quality best uses, is not part of this build; its weights have to be loaded first",
                )
            }),
            Self::Builtin => GOOD
                .clone()
                .ok_or_else(|| Error::unsupported("the library's weights cannot be read")),
            Self::File { network, .. } => Ok(network.clone()),
        }
    }

    /// Reads a file.
    pub fn read(path: &str) -> Result<Self> {
        Self::load(path).map_err(|why| Error::input(format!("{path}: {why}")))
    }

    /// Provides the larger network, which quality best uses, in builds without the feature `best-weights`; the contents of
    /// `weights/best.safetensors` of this crate. Has no effect if the network is there already.
    ///
    /// ```
    /// assert!(limpid::method::neural::Weights::install_best(b"something else").is_err());
    /// ```
    pub fn install_best(bytes: &[u8]) -> Result<()> {
        let network = network(bytes).map_err(|why| Error::input(format!("weights: {why}")))?;
        let _ = BEST.set(Arc::new(network.into()));
        Ok(())
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
    let form = form(&file)?;
    let mut layers = Vec::new();
    for (name, inputs, outputs, side) in form.shapes() {
        layers.push(Convolution {
            inputs,
            outputs,
            side,
            weights: tensor(name, "weight", &[outputs, inputs, side, side])?,
            bias: tensor(name, "bias", &[outputs])?,
        });
    }
    Ok(Network { form, layers })
}

/// Maps have whole matrices of planes, and no more than this.
const PLANES: [usize; 2] = [16, 512];

/// The form of the network in a file, from names and shapes.
fn form(file: &SafeTensors<'_>) -> std::result::Result<Form, String> {
    let outputs = |name: &str| {
        let tensor = file.tensor(&format!("{name}.bias"));
        let tensor = tensor.map_err(|e| e.to_string())?;
        Ok::<_, String>(tensor.shape().iter().product::<usize>())
    };
    let [least, most] = PLANES;
    let mut widths = [0; 4];
    for (width, name) in widths.iter_mut().zip(["enc1a", "enc2", "enc3", "enc4"]) {
        *width = outputs(name)?;
        if !width.is_multiple_of(least) || !(least..=most).contains(width) {
            return Err(format!(
                "{name} has {width} outputs; they must be a multiple of {least}, at most {most}"
            ));
        }
    }
    Ok(Form {
        widths,
        deep: ["enc2b.bias", "enc3b.bias"]
            .iter()
            .any(|name| file.tensor(name).is_ok()),
        divides: outputs("out")? != 4 * OUTPUTS,
    })
}
