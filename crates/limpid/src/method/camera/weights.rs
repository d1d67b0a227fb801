//! The weights of the networks: safetensors files of half floats.

use super::Quality;
use crate::method::{bundled, network};
use crate::{Error, Result};
use limpid_reference::definition::camera::{self, Conditional, Dense, FEATURES, OUTPUTS};
use limpid_reference::definition::network::{Convolution, Form};
use safetensors::SafeTensors;
use std::sync::LazyLock;

/// The bundled weights, trained by `train/photo`: the small network, and the usual one.
#[cfg(feature = "best-weights")]
const OWN: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/camera.apart")),
    include_bytes!(concat!(env!("OUT_DIR"), "/camera-best.apart")),
];
#[cfg(not(feature = "best-weights"))]
const OWN: [&[u8]; 2] = [&[]; 2];

/// Whether this build has the networks.
pub(in crate::method) const BUNDLED: bool = cfg!(feature = "best-weights");

static LOADED: [LazyLock<std::result::Result<Conditional, String>>; 2] = [
    LazyLock::new(|| conditional(&bundled::file(OWN[0]))),
    LazyLock::new(|| conditional(&bundled::file(OWN[1]))),
];

/// The bundled network of a quality.
pub(super) fn own(quality: Quality) -> Result<&'static Conditional> {
    if !BUNDLED {
        return Err(Error::unsupported(
            "this build has no network for photographs (the feature best-weights); choose eaw",
        ));
    }
    let loaded = LOADED[usize::from(quality != Quality::Fast)].as_ref();
    loaded.map_err(|why| Error::unsupported(format!("the library's weights cannot be read: {why}")))
}

/// Reads a network, or returns a description of what is wrong with it.
fn conditional(bytes: &[u8]) -> std::result::Result<Conditional, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let (widths, deep) = network::widths(&file)?;
    let form = camera::form(widths, deep);
    // In the file the last convolution computes what has a meaning.
    let stored = Form {
        outputs: OUTPUTS - 1,
        ..form
    };
    let mut read = network::network(&file, stored)?;
    let hidden = network::outputs(&file, "told")?;
    let told = Dense {
        weights: network::tensor(&file, "told.weight", &[hidden, FEATURES])?,
        bias: network::tensor(&file, "told.bias", &[hidden])?,
    };
    let count: usize = read.layers.iter().map(|l| l.outputs).sum();
    let mut biases = Dense {
        weights: network::tensor(&file, "biases.weight", &[count, hidden])?,
        bias: vec![0.0; count],
    };
    read.form = form;
    if let Some(last) = read.layers.last_mut() {
        widen(last, 4 * OUTPUTS);
        let count: usize = read.layers.iter().map(|l| l.outputs).sum();
        biases.weights.resize(count * hidden, 0.0);
        biases.bias.resize(count, 0.0);
    }
    Ok(Conditional {
        network: read,
        told,
        biases,
    })
}

/// Adds outputs that are 0.
fn widen(layer: &mut Convolution, outputs: usize) {
    let each = layer.inputs * layer.side * layer.side;
    layer.weights.resize(outputs * each, 0.0);
    layer.bias.resize(outputs, 0.0);
    layer.outputs = outputs;
}
