//! The contents of a file: size, parts, layers, types, and what each layer was recognised as.

use crate::heif;
use crate::say::tell;
use anyhow::Result;
use limpid::Layer;
use limpid::io::{self, Facts, Format, LayerFacts, PartFacts};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(path: &Path, layers: &[String], as_json: bool) -> Result<()> {
    let mut options = crate::run::read_options();
    for layer in layers {
        options = options.layer(layer)?;
    }
    let facts = heif::inspect(path, &options)?;
    if as_json {
        tell!("{:#}", as_value(path, &facts));
    } else {
        tell!("{}", as_text(path, &facts).trim_end());
    }
    Ok(())
}

fn recognised(layer: &LayerFacts) -> Vec<String> {
    layer.recognised.iter().map(Layer::to_string).collect()
}

/// The format of a file; not that of what it is decoded to.
fn format_of(path: &Path, facts: &Facts) -> String {
    if let Some(name) = heif::format_of(path) {
        return name.to_owned();
    }
    let extension = path.extension().and_then(|e| e.to_str());
    match extension.filter(|_| facts.format == Format::Dng && io::is_raw(path)) {
        Some(extension) => extension.to_ascii_uppercase(),
        None => facts.format.to_string(),
    }
}

fn as_text(path: &Path, facts: &Facts) -> String {
    let mut text = format!("{}: {}\n", path.display(), format_of(path, facts));
    match &facts.parts[..] {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|p| is_alike(p, first)) => {
            text += &joined_text(&facts.parts, first);
        }
        parts => {
            for (index, part) in parts.iter().enumerate() {
                if parts.len() > 1 {
                    let name = part.name.as_deref().unwrap_or("unnamed");
                    text += &format!("part {index}: {name}\n");
                }
                text += &part_text(part);
            }
        }
    }
    for note in &facts.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// Whether all parts fit one table.
fn is_alike(a: &PartFacts, b: &PartFacts) -> bool {
    (a.size, a.position, &a.compression) == (b.size, b.position, &b.compression)
}

/// Parts that differ only in their layers.
fn joined_text(parts: &[PartFacts], first: &PartFacts) -> String {
    let mut attributes: Vec<&String> = parts.iter().flat_map(|p| &p.attributes).collect();
    attributes.sort();
    attributes.dedup();
    let mut text = size_text(first);
    text += &format!("  parts        {}\n", parts.len());
    text += &kept_text(&attributes);
    text + &layers_text(parts.iter().flat_map(|p| &p.layers))
}

fn part_text(part: &PartFacts) -> String {
    let attributes: Vec<&String> = part.attributes.iter().collect();
    size_text(part) + &kept_text(&attributes) + &layers_text(part.layers.iter())
}

/// Names of attributes, in lines of a readable length.
fn kept_text(attributes: &[&String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in attributes {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() < 84 => *line += &format!(", {name}"),
            Some(line) => {
                *line += ",";
                lines.push((*name).clone());
            }
            None => lines.push((*name).clone()),
        }
    }
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        text += &format!("  {:<12} {line}\n", if i == 0 { "kept" } else { "" });
    }
    text
}

fn size_text(part: &PartFacts) -> String {
    let mut text = format!("  size         {}", part.size);
    if part.position != (0, 0) {
        text += &format!(" at ({}, {})", part.position.0, part.position.1);
    }
    if let Some((x, y, size)) = part.display
        && (size != part.size || (x, y) != part.position)
    {
        text += &format!(", shown as {size} at ({x}, {y})");
    }
    text + &format!("\n  compression  {}\n", part.compression)
}

fn layers_text<'a>(layers: impl Iterator<Item = &'a LayerFacts>) -> String {
    let mut text = String::new();
    let rows: Vec<[String; 4]> = layers
        .map(|layer| {
            let channels: Vec<&str> = layer.channels.iter().map(|c| c.name.as_str()).collect();
            let mut samples: Vec<&str> = layer.channels.iter().map(|c| c.sample.as_str()).collect();
            samples.dedup();
            let known = recognised(layer);
            [
                layer.name.clone(),
                channels.join(","),
                samples.join(","),
                if known.is_empty() {
                    "kept".to_owned()
                } else {
                    known.join(", ")
                },
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max();
    let widths = [0, 1, 2].map(|c| width(c).unwrap_or(0));
    for [name, channels, samples, known] in &rows {
        text += &format!(
            "  {name:a$}  {channels:b$}  {samples:c$}  {known}\n",
            a = widths[0],
            b = widths[1],
            c = widths[2]
        );
    }
    text
}

fn as_value(path: &Path, facts: &Facts) -> Value {
    let parts: Vec<Value> = facts
        .parts
        .iter()
        .map(|part| {
            let layers: Vec<Value> = part
                .layers
                .iter()
                .map(|layer| {
                    let channels = layer
                        .channels
                        .iter()
                        .map(|c| json!({"name": c.name, "type": c.sample}));
                    json!({
                        "name": layer.name,
                        "channels": channels.collect::<Vec<_>>(),
                        "recognised": recognised(layer),
                    })
                })
                .collect();
            json!({
                "name": part.name,
                "width": part.size.width,
                "height": part.size.height,
                "position": [part.position.0, part.position.1],
                "display": part.display.map(|(x, y, s)| json!([x, y, s.width, s.height])),
                "compression": part.compression,
                "kept": part.attributes,
                "layers": layers,
            })
        })
        .collect();
    json!({
        "file": path.display().to_string(),
        "format": format_of(path, facts),
        "parts": parts,
        "notes": facts.notes,
    })
}
