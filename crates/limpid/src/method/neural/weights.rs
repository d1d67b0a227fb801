//! The weights of the network: a safetensors file of half floats.

use super::Quality;
use crate::method::network::{self, Loaded};
use crate::method::{Refused, Value, bundled};
use crate::{Error, Result};
use limpid_reference::definition::around::{COMPARED, MORE, WEIGHTS};
use limpid_reference::definition::network::{Form, Network};
use limpid_reference::definition::neural::{INPUTS, OUTPUTS};
use safetensors::SafeTensors;
use std::sync::{Arc, LazyLock, OnceLock};

/// The bundled weights of the small network, trained by `train/`.
static SMALL: LazyLock<Option<Arc<Loaded>>> =
    LazyLock::new(|| own(include_bytes!(concat!(env!("OUT_DIR"), "/guides.apart"))));

/// Those of the larger network, the usual one where it is bundled.
#[cfg(feature = "best-weights")]
const BUNDLED: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/best.apart")));
#[cfg(not(feature = "best-weights"))]
const BUNDLED: Option<&[u8]> = None;

/// The networks for sequences, the small ones first.
#[cfg(feature = "best-weights")]
const SEQUENCES: [&[u8]; 2] = [limpid_weights::FRAMES, limpid_weights::FRAMES_BEST];
#[cfg(not(feature = "best-weights"))]
const SEQUENCES: [&[u8]; 2] = [&[]; 2];

static FRAMES: [LazyLock<Option<Frames>>; 2] = [
    LazyLock::new(|| frames(SEQUENCES[0]).ok()),
    LazyLock::new(|| frames(SEQUENCES[1]).ok()),
];

/// The networks of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Frames {
    /// How much is taken of frames around.
    pub weigh: Arc<Loaded>,
    /// The guides of the frame of more samples.
    pub guides: Arc<Loaded>,
}

impl Frames {
    /// Those of a quality, if this build has them.
    pub(super) fn of(quality: Quality) -> Option<&'static Self> {
        FRAMES[usize::from(quality != Quality::Fast)].as_ref()
    }
}

/// Reads the networks for sequences, or returns a description of what is wrong with them.
fn frames(bytes: &[u8]) -> std::result::Result<Frames, String> {
    let bytes = bundled::file(bytes);
    let file = SafeTensors::deserialize(&bytes).map_err(|e| e.to_string())?;
    let read = |of: &str, inputs: usize, outputs: usize| {
        let (widths, deep) = network::widths_of(&file, of)?;
        let form = Form {
            inputs,
            widths,
            deep,
            outputs,
        };
        let network = network::network_of(&file, of, form)?;
        Ok::<_, String>(Arc::new(network.into()))
    };
    Ok(Frames {
        weigh: read("weigh.", COMPARED, WEIGHTS)?,
        // The factor of the divisor, and the share of other results.
        guides: read("guides.", INPUTS + MORE, OUTPUTS + 4)?,
    })
}

/// The larger network: bundled, or installed.
static LARGER: OnceLock<Arc<Loaded>> = OnceLock::new();

fn larger() -> Option<Arc<Loaded>> {
    if LARGER.get().is_none()
        && let Some(loaded) = BUNDLED.and_then(own)
    {
        // Another thread may have been faster.
        let _ = LARGER.set(loaded);
    }
    LARGER.get().cloned()
}

fn own(bytes: &[u8]) -> Option<Arc<Loaded>> {
    let bytes = bundled::file(bytes);
    network(&bytes).ok().map(|n| Arc::new(n.into()))
}

/// The source of the weights.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
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
        let small = match quality {
            Quality::Fast => true,
            // Without the larger network in this build, the small one is the usual one.
            Quality::Good => BUNDLED.is_none(),
            Quality::Best => false,
        };
        match self {
            Self::Builtin if small => SMALL
                .clone()
                .ok_or_else(|| Error::unsupported("the library's weights cannot be read")),
            Self::Builtin => larger().ok_or_else(|| {
                Error::unsupported(
                    "the larger network, which quality best uses, is not part of this build; its weights have to be loaded first",
                )
            }),
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
        let _ = LARGER.set(Arc::new(network.into()));
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
    let (widths, deep) = network::widths(&file)?;
    let factor = match network::outputs(&file, "out")? == 4 * OUTPUTS {
        true => 0,
        false => 3,
    };
    let form = Form {
        inputs: INPUTS,
        widths,
        deep,
        outputs: OUTPUTS + factor,
    };
    network::network(&file, form)
}

/// Whether a network has the factor of the divisor.
pub(super) fn divides(network: &Loaded) -> bool {
    network.form().outputs > OUTPUTS
}
