//! `limpid methods`: which method to use when.

use crate::say::tell;
use anyhow::Result;
use limpid::method::{Entry, InputKind, Use};
use limpid_lab::methods;
use serde_json::{Value, json};

/// Show which method to use when
#[derive(clap::Args)]
pub(crate) struct Args {
    /// All methods with their options, as JSON
    #[arg(long)]
    json: bool,
}

/// Kinds of input, and a command for each.
const INPUTS: [(InputKind, &str); 6] = [
    (
        InputKind::Render,
        "A path-traced image (limpid denoise render.exr -o clean.exr)",
    ),
    (
        InputKind::RenderedSequence,
        "A rendered sequence (limpid denoise 'shot.####.exr' -o 'clean.####.exr')",
    ),
    (
        InputKind::Photograph,
        "A photograph (limpid denoise photo.jpg -o clean.jpg)",
    ),
    (
        InputKind::Film,
        "A film, or numbered pictures (limpid denoise clip.mp4 -o clean.mp4)",
    ),
    (
        InputKind::Gradients,
        "A gradient-domain render (limpid reconstruct gradients.exr -o image.exr)",
    ),
    (
        InputKind::Image,
        "A single filter or transform (limpid filter gaussian in.exr -o out.exr; limpid dwt)",
    ),
];

/// Methods that are covered by another line of the table.
const MEANT: [&str; 3] = ["filter:tent", "filter:tent2", "filter:idwt"];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.json {
        tell!("{:#}", Value::Array(methods().map(as_json).collect()));
        return Ok(());
    }
    for (input, have) in INPUTS {
        tell!("{have}");
        for entry in methods() {
            for (_, when) in entry.advice.iter().filter(|(i, _)| *i == input) {
                tell!("  {:<13} {when}", entry.name);
            }
        }
    }
    let told = |e: &&Entry| !e.advice.is_empty() || MEANT.contains(&e.path().as_str());
    let others: Vec<&Entry> = methods().filter(|e| !told(e)).collect();
    let (ours, lab): (Vec<&Entry>, Vec<&Entry>) = others
        .into_iter()
        .partition(|e| limpid::method::entry(&e.path()).is_ok());
    if !ours.is_empty() {
        tell!("More");
        for entry in ours {
            tell!("  {:<13} {}", entry.name, entry.about);
        }
    }
    let names: Vec<&str> = lab.iter().map(|e| e.name).collect();
    tell!("Comparison methods from the papers: {}", names.join(", "));
    tell!(
        "\nOptions: limpid denoise --method NAME --help. Speed on this machine: limpid bench NAME."
    );
    Ok(())
}

fn as_json(entry: &Entry) -> Value {
    let advised = entry.advice.first().map(|(input, when)| {
        let have = INPUTS.iter().find(|(i, _)| i == input);
        json!({ "for": have.map(|(_, have)| have), "when": when })
    });
    let options: Vec<Value> = (entry.make)()
        .named_options()
        .into_iter()
        .map(|k| json!({ "name": k.name, "about": k.about, "default": k.value, "form": k.form }))
        .collect();
    json!({
        "name": entry.path(),
        "about": entry.about,
        "subcommand": match entry.used {
            Use::Denoise => "denoise",
            Use::Filter => "filter",
            Use::Reconstruct => "reconstruct",
        },
        "advice": advised,
        "options": options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_input_has_advice() {
        for (input, have) in INPUTS {
            let advised = |e: &Entry| e.advice.iter().any(|(i, _)| *i == input);
            assert!(methods().any(advised), "{have}");
        }
        for path in MEANT {
            assert!(methods().any(|e| e.path() == path), "{path}");
        }
    }
}
