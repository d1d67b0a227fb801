//! Maps layer names of known renderers to layers of a frame, and back.
//!
//! A channel of an EXR file is called `LAYER.CHANNEL`. This module interprets `LAYER`: `ViewLayer.Denoising Normal`, `albedo`,
//! `Ns`. Names are compared without case, spaces and underscores; only the last component of a dotted name is significant (the
//! others are view layers). If several names of a file denote one layer, the one with the lowest rank is used: layers that a
//! renderer writes for denoising come first.
//!
//! The canonical names, which are written to new files, are read back as the same layers ([`canonical`]).

use limpid_core::{Kind, Layer, Part};

/// The meaning of a layer's name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meaning {
    pub(super) layer: Layer,
    /// Lower is preferred.
    pub(super) rank: u8,
    pub(super) adjust: Adjust,
}

/// How the values in a file are converted to those of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adjust {
    AsIs,
    /// The second channel points up in the file and down in the frame.
    FlipY,
    /// The file holds the variance of a sample, the frame that of the mean: divide by the number of samples.
    PerSample,
}

/// Names per kind, best first. Sources: the renderers' manuals and sources as listed in `docs/files.md`.
static NAMES: &[(Kind, u8, &[&str])] = &[
    (
        Kind::Color,
        0,
        &[
            "",
            "rgba",
            "rgb",
            "combined",
            "beauty",
            "color",
            "colour",
            "ci",
            "image",
            "final",
            "rgbcolor",
            "main",
            "default",
            "composite",
        ],
    ),
    // Mitsuba's AOV integrator writes the image of its nested integrator again, under the name it was given.
    (Kind::Color, 1, &["img"]),
    (Kind::Alpha, 0, &["alpha"]),
    (
        Kind::Albedo,
        0,
        &["denoisingalbedo", "denoisealbedo", "denoiseralbedo"],
    ),
    (Kind::Albedo, 1, &["albedo", "alb"]),
    (Kind::Albedo, 2, &["diffusealbedo", "diffusealbedonoice"]),
    (
        Kind::Albedo,
        3,
        &["diffusefilter", "diffcol", "diffusecolor", "basecolor"],
    ),
    (
        Kind::Normal,
        0,
        &["denoisingnormal", "denoisenormal", "ns", "shnormal"],
    ),
    (
        Kind::Normal,
        1,
        &[
            "normal",
            "normals",
            "n",
            "nn",
            "nworld",
            "shadingnormal",
            "worldnormal",
            "bumpnormals",
            "nnoice",
        ],
    ),
    (Kind::Normal, 2, &["ng", "geonormal"]),
    (
        Kind::Position,
        0,
        &[
            "position",
            "p",
            "pworld",
            "pos",
            "worldposition",
            "worldpositions",
        ],
    ),
    (Kind::Depth, 0, &["denoisingdepth"]),
    (
        Kind::Depth,
        1,
        &[
            "depth",
            "z",
            "zdepth",
            "pz",
            "dd",
            "ddy",
            "znoice",
            "zfiltered",
        ],
    ),
    (Kind::Visibility, 0, &["visibility"]),
    (Kind::Motion, 0, &["motion"]),
    (Kind::Motion, 1, &["vector"]),
    (
        Kind::Id,
        0,
        &[
            "id",
            "objectid",
            "indexob",
            "objectindex",
            "shapeindex",
            "idx",
            "renderid",
        ],
    ),
    (Kind::Dx, 0, &["dx"]),
    (Kind::Dy, 0, &["dy"]),
];

/// Parts of colour by light or by path.
static LIGHTS: &[&str] = &[
    // Cycles, short and long names
    "diffdir",
    "diffind",
    "glossdir",
    "glossind",
    "transdir",
    "transind",
    "volumedir",
    "volumeind",
    "subsurfacedir",
    "subsurfaceind",
    "emit",
    "env",
    "diffusedirect",
    "diffuseindirect",
    "glossydirect",
    "glossyindirect",
    "transmissiondirect",
    "transmissionindirect",
    "volumedirect",
    "volumeindirect",
    "subsurfacedirect",
    "subsurfaceindirect",
    "environment",
    // Arnold
    "direct",
    "indirect",
    "emission",
    "background",
    "diffuse",
    "specular",
    "coat",
    "transmission",
    "sss",
    "volume",
    "sheen",
    "specdirect",
    "speculardirect",
    "specularindirect",
    "coatdirect",
    "coatindirect",
    "sssdirect",
    "sssindirect",
    "sheendirect",
    "sheenindirect",
    // RenderMan
    "directdiffuse",
    "indirectdiffuse",
    "directspecular",
    "indirectspecular",
    "directdiffuselobe",
    "indirectdiffuselobe",
    "directspecularlobe",
    "indirectspecularlobe",
    "subsurface",
    "transmissive",
    "emissive",
    // V-Ray
    "lighting",
    "globalillumination",
    "gi",
    "reflection",
    "reflect",
    "refraction",
    "refract",
    "selfillumination",
    "selfillum",
    "caustics",
    "atmosphere",
];

/// Interprets the name of a layer, without the channel.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    if let Some(light) = strip_root(name, "light") {
        let (name, part) = split_part(light);
        return Some(plain(Kind::Light(name.into()), part, 0));
    }
    if let Some(meaning) = known(name) {
        return Some(meaning);
    }
    let (before, last) = name.rsplit_once('.')?;
    // Stereo files name the view last.
    if matches!(key(last).as_str(), "left" | "right") {
        return meaning(before);
    }
    let (rest, part) = split_part(name);
    if part != Part::Mean || rest.len() < name.len() {
        // `albedo.variance` is that of albedo; `ViewLayer.variance` that of colour.
        if let Some(meaning) = meaning(rest).filter(|m| m.layer.part == Part::Mean) {
            return Some(plain(meaning.layer.kind, part, meaning.rank));
        }
    }
    known(last)
}

/// A single component, or a name without a view layer.
fn known(name: &str) -> Option<Meaning> {
    let key = key(name);
    let part = match key.as_str() {
        "a" | "halfa" => Some((Part::HalfA, Adjust::AsIs)),
        "b" | "halfb" => Some((Part::HalfB, Adjust::AsIs)),
        "variance" | "mse" => Some((Part::Variance, Adjust::AsIs)),
        _ => None,
    };
    if let Some((part, adjust)) = part {
        return Some(Meaning {
            layer: Layer::new(Kind::Color, part),
            rank: 0,
            adjust,
        });
    }
    if let Some((kind, rank, _)) = NAMES.iter().find(|n| n.2.contains(&key.as_str())) {
        let mut meaning = plain(kind.clone(), Part::Mean, *rank);
        if key == "vector" {
            // Cycles: previous position minus current one in pixels, y up.
            meaning.adjust = Adjust::FlipY;
        }
        return Some(meaning);
    }
    let own = name.rsplit('.').next().unwrap_or(name);
    if LIGHTS.contains(&key.as_str()) {
        return Some(plain(Kind::Light(own.into()), Part::Mean, 0));
    }
    // Light groups: Combined_key (Cycles), RGBA_key (Arnold).
    let lower = own.to_ascii_lowercase();
    for prefix in ["combined_", "rgba_"] {
        if let Some(light) = lower.strip_prefix(prefix) {
            let light = &own[own.len() - light.len()..];
            let kind = Kind::Light(light.into());
            return (!light.is_empty()).then(|| plain(kind, Part::Mean, 0));
        }
    }
    // RenderMan: albedo_mse is the variance of the mean, albedo_var that of a sample.
    for (suffix, adjust) in [("_mse", Adjust::AsIs), ("_var", Adjust::PerSample)] {
        if lower.ends_with(suffix) {
            let base = known(&name[..name.len() - suffix.len()])?;
            return (base.layer.part == Part::Mean).then(|| Meaning {
                layer: Layer::new(base.layer.kind, Part::Variance),
                rank: u8::from(adjust == Adjust::PerSample),
                adjust,
            });
        }
    }
    None
}

fn plain(kind: Kind, part: Part, rank: u8) -> Meaning {
    Meaning {
        layer: Layer::new(kind, part),
        rank,
        adjust: Adjust::AsIs,
    }
}

/// A name in lower case, without spaces, dots and underscores.
fn key(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The text after `root.`, ignoring case.
fn strip_root<'a>(name: &'a str, root: &str) -> Option<&'a str> {
    let (first, rest) = name.split_once('.')?;
    first.eq_ignore_ascii_case(root).then_some(rest)
}

/// Splits the part off the end of a name.
fn split_part(name: &str) -> (&str, Part) {
    match name.rsplit_once('.') {
        Some((rest, "a")) => (rest, Part::HalfA),
        Some((rest, "b")) => (rest, Part::HalfB),
        Some((rest, "variance")) => (rest, Part::Variance),
        Some((rest, "mean")) => (rest, Part::Mean),
        _ => (name, Part::Mean),
    }
}

/// The canonical channel names of a layer, for new files: `R`, `albedo.variance.G`, `normal.X`, `light.key.R`.
///
/// ```text
/// canonical(color) = R G B            canonical(color.a) = a.R a.G a.B
/// canonical(alpha) = A                canonical(depth)   = depth.Z
/// ```
pub(super) fn canonical(layer: &Layer, channels: usize) -> Vec<String> {
    let part = match layer.part {
        Part::Mean => None,
        Part::HalfA => Some("a"),
        Part::HalfB => Some("b"),
        Part::Variance => Some("variance"),
    };
    let letters: &[&str] = match (&layer.kind, channels) {
        (Kind::Normal | Kind::Position, _) => &["X", "Y", "Z"],
        (Kind::Motion, _) => &["X", "Y"],
        (Kind::Alpha, _) => &["A"],
        (Kind::Depth, _) => &["Z"],
        (Kind::Visibility, _) => &["V"],
        (Kind::Id, _) => &["I"],
        (_, 1) => &["Y"],
        _ => &["R", "G", "B"],
    };
    let base = match &layer.kind {
        Kind::Color => None,
        Kind::Alpha if part.is_none() => None,
        Kind::Light(name) => {
            // A light whose own name ends like a part is disambiguated by an explicit part.
            let ends = matches!(
                name.rsplit('.').next(),
                Some("a" | "b" | "variance" | "mean")
            );
            let mean = if part.is_none() && ends { ".mean" } else { "" };
            Some(format!("light.{name}{mean}"))
        }
        kind => Some(Layer::from(kind.clone()).to_string()),
    };
    let prefix: Vec<String> = base.into_iter().chain(part.map(str::to_owned)).collect();
    letters
        .iter()
        .map(|letter| {
            let mut path = prefix.clone();
            path.push((*letter).to_owned());
            path.join(".")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_renderers() {
        let cases = [
            // Blender
            ("ViewLayer.Combined", "color"),
            ("View Layer.Denoising Normal", "normal"),
            ("ViewLayer.Denoising Albedo", "albedo"),
            ("ViewLayer.Denoising Depth", "depth"),
            ("ViewLayer.Depth", "depth"),
            ("RenderLayer.Vector", "motion"),
            ("ViewLayer.DiffDir", "light:DiffDir"),
            ("ViewLayer.Glossy Indirect", "light:Glossy Indirect"),
            ("ViewLayer.Combined_key", "light:key"),
            ("ViewLayer.Combined.left", "color"),
            ("ViewLayer.IndexOB", "id"),
            // Mitsuba
            ("albedo", "albedo"),
            ("nn", "normal"),
            ("sh_normal", "normal"),
            ("dd.y", "depth"),
            ("dd", "depth"),
            ("idx", "id"),
            ("img", "color"),
            // Arnold
            ("N", "normal"),
            ("Z", "depth"),
            ("RGBA", "color"),
            ("RGBA_key", "light:key"),
            ("denoise_albedo", "albedo"),
            ("diffuse_direct", "light:diffuse_direct"),
            // RenderMan
            ("Ci", "color"),
            ("mse", "color.variance"),
            ("albedo_mse", "albedo.variance"),
            ("albedo_var", "albedo.variance"),
            ("normal_mse", "normal.variance"),
            ("diffuse_mse", "light:diffuse.variance"),
            // PBRT
            ("Ns", "normal"),
            ("P", "position"),
            ("Albedo", "albedo"),
            ("Variance", "color.variance"),
            // V-Ray
            ("normals", "normal"),
            ("VRay.zDepth", "depth"),
            ("diffuseFilter", "albedo"),
            // ours
            ("a", "color.a"),
            ("b", "color.b"),
            ("variance", "color.variance"),
            ("albedo.variance", "albedo.variance"),
            ("ViewLayer.variance", "color.variance"),
            ("alpha.a", "alpha.a"),
        ];
        for (name, layer) in cases {
            let found = meaning(name).map(|m| m.layer.to_string());
            assert_eq!(found.as_deref(), Some(layer), "{name}");
        }
        for unknown in ["ViewLayer.CryptoObject00", "UV", "sampleCount", "foo.bar"] {
            assert_eq!(meaning(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_kind_and_part_comes_back_from_its_canonical_name() {
        let lights = ["key", "key.left", "fill.a", "x.variance", "s.mean", "Größe"];
        let kinds = Kind::NAMED
            .into_iter()
            .chain(lights.map(|l| Kind::Light(l.into())));
        for kind in kinds {
            for part in [Part::Mean, Part::HalfA, Part::HalfB, Part::Variance] {
                for &channels in kind.channels() {
                    let layer = Layer::new(kind.clone(), part);
                    let names = canonical(&layer, channels);
                    assert_eq!(names.len(), channels);
                    let Some((group, _)) = names[0].rsplit_once('.') else {
                        continue;
                    };
                    assert_eq!(meaning(group).map(|m| m.layer), Some(layer), "{names:?}");
                }
            }
        }
    }
}
