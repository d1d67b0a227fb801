//! `limpid methods`: which method to use when.

use crate::say::tell;
use anyhow::Result;
use limpid::method::{Entry, Use};
use limpid_lab::methods;
use serde_json::{Value, json};

/// Show which method to use when
#[derive(clap::Args)]
pub(crate) struct Args {
    /// All methods with their options, as JSON
    #[arg(long)]
    json: bool,
}

/// Advice on a method.
struct Advice {
    path: &'static str,
    when: &'static str,
}

/// Kinds of input and the methods for them, the default first.
const ADVICE: [(&str, &[Advice]); 6] = [
    (
        "A path-traced image (limpid denoise render.exr -o clean.exr)",
        &[
            Advice {
                path: "neural",
                when: "default: best quality, especially with few samples; learned guides",
            },
            Advice {
                path: "ensemble",
                when: "default for two buffers of many samples: the mean of neural and nfor",
            },
            Advice {
                path: "nfor",
                when: "no network; estimates its error",
            },
            Advice {
                path: "atrous",
                when: "--quality fast: previews; needs features to keep edges",
            },
            Advice {
                path: "rdfc",
                when: "writes risk estimates as layers; slower than nfor",
            },
        ],
    ),
    (
        "A rendered sequence (limpid denoise 'shot.####.exr' -o 'clean.####.exr')",
        &[
            Advice {
                path: "neural",
                when: "default: each frame by itself; --alpha 0.3 uses history, for scenes whose light does not move",
            },
            Advice {
                path: "svgf",
                when: "--quality fast: no network; real-time on any GPU",
            },
            Advice {
                path: "taa",
                when: "anti-aliasing over time only, for frames with little noise",
            },
        ],
    ),
    (
        "A photograph (limpid denoise photo.jpg -o clean.jpg)",
        &[
            Advice {
                path: "eaw",
                when: "default: measures and removes camera noise; --quality fast leaves out its second filter",
            },
            Advice {
                path: "ddid",
                when: "--quality best: most detail, slow",
            },
            Advice {
                path: "nlm",
                when: "non-local means; also for renders with a variance layer and no features",
            },
            Advice {
                path: "shrink",
                when: "wavelet shrinkage, for white noise of known strength",
            },
        ],
    ),
    (
        "A film, or numbered pictures (limpid denoise clip.mp4 -o clean.mp4)",
        &[Advice {
            path: "film",
            when: "default: merges frames along the motion; --quality fast uses 3 frames, good 5, best 9",
        }],
    ),
    (
        "A gradient-domain render (limpid reconstruct gradients.exr -o image.exr)",
        &[
            Advice {
                path: "reconstruct:poisson",
                when: "default: combines colour and its differences",
            },
            Advice {
                path: "reconstruct:patch",
                when: "with features: less bias at edges, slower",
            },
        ],
    ),
    (
        "A single filter or transform (limpid filter gaussian in.exr -o out.exr; limpid dwt)",
        &[
            Advice {
                path: "filter:gaussian",
                when: "blur; also tent, tent2",
            },
            Advice {
                path: "filter:bilateral",
                when: "edge-preserving blur",
            },
            Advice {
                path: "filter:variance",
                when: "mean and deviation of a window",
            },
            Advice {
                path: "filter:dwt",
                when: "wavelet coefficients, 110 wavelets: limpid dwt, limpid idwt",
            },
        ],
    ),
];

/// Methods that are covered by another line of the table.
const MEANT: [&str; 3] = ["filter:tent", "filter:tent2", "filter:idwt"];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.json {
        tell!("{:#}", Value::Array(methods().map(as_json).collect()));
        return Ok(());
    }
    for (have, list) in &ADVICE {
        tell!("{have}");
        for advice in *list {
            let name = advice.path.rsplit(':').next().unwrap_or(advice.path);
            tell!("  {name:<13} {}", advice.when);
        }
    }
    let told = |e: &&Entry| {
        let path = e.path();
        let advised = ADVICE.iter().flat_map(|(_, list)| list.iter());
        advised.map(|a| a.path).chain(MEANT).any(|p| p == path)
    };
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
    let advised = ADVICE.iter().find_map(|(have, list)| {
        let advice = list.iter().find(|a| a.path == entry.path())?;
        Some(json!({ "for": have, "when": advice.when }))
    });
    let options: Vec<Value> = (entry.make)()
        .knobs()
        .into_iter()
        .map(|k| json!({ "name": k.name, "about": k.about, "default": k.value, "form": k.form }))
        .collect();
    json!({
        "name": entry.path(),
        "about": entry.about,
        "verb": match entry.used {
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
    fn advice_is_about_methods_that_exist() {
        let known: Vec<String> = methods().map(Entry::path).collect();
        let advised = ADVICE.iter().flat_map(|(_, list)| list.iter());
        for path in advised.map(|a| a.path).chain(MEANT) {
            assert!(known.iter().any(|k| k == path), "{path}");
        }
    }
}
