//! Determines which channels of an EXR file are layers of a frame.

use super::{noisy, size_of, text, view};
use crate::ReadOptions;
use crate::names;
use crate::names::Adjust;
use ::exr::meta::attribute::AttributeValue;
use ::exr::meta::header::Header;
use limpid_core::{Error, Kind, Layer, Part, Result};

/// A layer of a frame and the channels that hold it.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    pub(crate) layer: Layer,
    pub(crate) part: usize,
    /// Indices of the channels in the part, in the order of the layer's planes.
    pub(crate) channels: Vec<usize>,
    pub(crate) adjust: Adjust,
    pub(crate) divide: Divide,
    /// Whether the channels belong to another layer, which is the one that is written.
    pub(crate) derived: bool,
}

/// The divisor of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Divide {
    No,
    By(f32),
    ByChannel(usize),
}

/// Channels that share a name up to the last dot.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) part: usize,
    /// The name without the channel; empty for `R`, `G`, `B`, `A` at the top level.
    pub(crate) name: String,
    /// Indices of the channels in the part, with the text after the last dot.
    pub(crate) channels: Vec<(usize, String)>,
}

/// The layers of a file, its groups of channels, and notes for the user.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) layers: Vec<Mapped>,
    pub(crate) groups: Vec<Group>,
    /// Other groups that could be the colour, with their names: copies of it, or other images.
    pub(crate) others: Vec<(Mapped, String)>,
    /// Where the colour is written, if not where it was read.
    pub(crate) home: Option<Mapped>,
    pub(crate) notes: Vec<String>,
}

/// A layer that could be taken from a group.
pub(super) struct Candidate {
    pub(super) mapped: Mapped,
    pub(super) rank: u8,
    pub(super) group: usize,
}

/// Finds the layers of a file by name and by the caller's assignments.
pub(crate) fn assign(headers: &[Header], options: &ReadOptions) -> Result<Assignment> {
    let groups = groups(headers);
    let mut notes: Vec<String> = view::note(headers).into_iter().collect();
    let mut candidates = candidates(headers, &groups, &mut notes);
    if !candidates.iter().any(|c| c.mapped.layer == Layer::COLOR) {
        candidates.extend(only_color(&groups, &candidates, &mut notes));
    }
    let mut layers: Vec<Mapped> = Vec::new();
    for (layer, name) in &options.layers {
        layers.push(assigned(layer, name, headers, &groups)?);
    }
    let home = noisy::home(&layers, &candidates, &groups, headers);
    let others = choose(&mut layers, candidates, &groups, headers);
    notes.extend(home.as_ref().map(noisy::told));
    match_sizes(&mut layers, headers, options, &mut notes)?;
    second_half(&mut layers);
    noisy::already_denoised(&layers, &groups, &mut notes);
    Ok(Assignment {
        layers,
        groups,
        others,
        home: home.map(|(mapped, _)| mapped),
        notes,
    })
}

/// Sorts channels into groups by name.
fn groups(headers: &[Header]) -> Vec<Group> {
    let many = headers.len() > 1;
    let mut groups: Vec<Group> = Vec::new();
    for (part, header) in headers.iter().enumerate() {
        let part_name = header.own_attributes.layer_name.as_ref();
        let part_name = part_name
            .map(|n| text(n.as_slice()))
            .filter(|n| !n.is_empty());
        for (index, channel) in header.channels.list.iter().enumerate() {
            let own = text(channel.name.as_slice());
            let (mut name, mut channel) = split(&own);
            if let Some(part_name) = part_name.as_ref().filter(|_| many)
                && !own.starts_with(&format!("{part_name}."))
            {
                let (joined, letter) = join(part_name, &own);
                // The first part holds the image itself, whatever its name.
                if part > 0 || names::meaning(&joined).is_some() {
                    (name, channel) = (joined, letter);
                }
            }
            let same = |g: &&mut Group| g.part == part && g.name == name;
            match groups.iter_mut().find(same) {
                Some(group) => group.channels.push((index, channel)),
                None => groups.push(Group {
                    part,
                    name,
                    channels: vec![(index, channel)],
                }),
            }
        }
    }
    groups
}

/// Name and channel: `a.b.R` → `a.b`, `R`; `R` → ``, `R`; `depth` → `depth`, ``.
fn split(name: &str) -> (String, String) {
    let top = ["r", "g", "b", "a", "y"];
    match name.rsplit_once('.') {
        Some((before, channel)) => (before.to_owned(), channel.to_owned()),
        None if top.contains(&name.to_ascii_lowercase().as_str()) => {
            (String::new(), name.to_owned())
        }
        None => (name.to_owned(), String::new()),
    }
}

/// The same with the name of a part before it, where every single letter is a channel: part `N`, `X` → `N`, `X`.
fn join(part: &str, name: &str) -> (String, String) {
    match name.rsplit_once('.') {
        Some((before, channel)) => (format!("{part}.{before}"), channel.to_owned()),
        None if name.chars().count() == 1 => (part.to_owned(), name.to_owned()),
        None => (format!("{part}.{name}"), String::new()),
    }
}

/// All layers that each group could be.
fn candidates(headers: &[Header], groups: &[Group], notes: &mut Vec<String>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let name = view::name_in_first(headers, group.part, &group.name);
        let found = name.and_then(|n| names::meaning(&n).or_else(|| by_letter(group)));
        let Some(meaning) = found else { continue };
        let mut add = |layer: Layer, channels: Vec<usize>, divide: Divide| {
            candidates.push(Candidate {
                mapped: Mapped {
                    layer,
                    part: group.part,
                    channels,
                    adjust: meaning.adjust,
                    divide,
                    derived: false,
                },
                rank: meaning.rank,
                group: index,
            });
        };
        if meaning.layer == Layer::COLOR
            && let Some(alpha) = find(group, &["a"])
        {
            add(Kind::Alpha.into(), vec![alpha], Divide::No);
        }
        if let Some(channels) = pick(&meaning.layer.kind, group) {
            let per_sample = meaning.adjust == Adjust::PerSample
                || is_pbrt_variance(&meaning.layer, &headers[group.part]);
            match divisor(per_sample, group.part, groups, &headers[group.part]) {
                Some(divide) => add(meaning.layer, channels, divide),
                None => notes.push(format!(
                    "layer {} is the variance of a sample, and the file does not store the number of samples; not used",
                    group.name
                )),
            }
        }
    }
    candidates
}

/// A layer of any name whose only channel has a letter that is specific to one renderer: Mitsuba's depth is `NAME.T`.
fn by_letter(group: &Group) -> Option<names::Meaning> {
    let [(_, letter)] = &group.channels[..] else {
        return None;
    };
    (letter == "T").then_some(names::Meaning {
        layer: Kind::Depth.into(),
        rank: 2,
        adjust: Adjust::AsIs,
    })
}

/// PBRT writes the variance of a sample as `Variance`, and the number of samples as an attribute.
fn is_pbrt_variance(layer: &Layer, header: &Header) -> bool {
    *layer == Layer::new(Kind::Color, Part::Variance) && samples_attribute(header).is_some()
}

fn samples_attribute(header: &Header) -> Option<f32> {
    match header.own_attributes.other.get(&b"samplesPerPixel"[..]) {
        Some(AttributeValue::I32(n)) if *n > 0 => Some(*n as f32),
        _ => None,
    }
}

/// The divisor from the variance of a sample to that of the mean: RenderMan's `sampleCount`, PBRT's attribute.
fn divisor(per_sample: bool, part: usize, groups: &[Group], header: &Header) -> Option<Divide> {
    if !per_sample {
        return Some(Divide::No);
    }
    let count = groups.iter().find(|g| {
        let last = g.name.rsplit('.').next().unwrap_or_default();
        g.part == part && last.eq_ignore_ascii_case("sampleCount") && g.channels.len() == 1
    });
    match count {
        Some(group) => Some(Divide::ByChannel(group.channels[0].0)),
        None => samples_attribute(header).map(Divide::By),
    }
}

/// The channel of a group with one of these names, without case.
fn find(group: &Group, names: &[&str]) -> Option<usize> {
    let has = |name: &&str| {
        let mut channels = group.channels.iter();
        let found = channels.find(|(_, c)| c.eq_ignore_ascii_case(name));
        found.map(|(index, _)| *index)
    };
    names.iter().find_map(has)
}

/// The channels of a group that form a layer of a kind.
fn pick(kind: &Kind, group: &Group) -> Option<Vec<usize>> {
    let all = |names: [&str; 3]| -> Option<Vec<usize>> {
        names.iter().map(|n| find(group, &[*n])).collect()
    };
    let three = || {
        all(["r", "g", "b"])
            .or_else(|| all(["x", "y", "z"]))
            .or_else(|| all(["red", "green", "blue"]))
    };
    let only = || (group.channels.len() == 1).then(|| vec![group.channels[0].0]);
    let pair = |a: &str, b: &str| Some(vec![find(group, &[a])?, find(group, &[b])?]);
    match kind {
        Kind::Motion => pair("x", "y")
            .or_else(|| pair("r", "g"))
            .or_else(|| pair("u", "v")),
        kind if kind.channels() == [3] => three(),
        // `A` alone is not a colour.
        kind if kind.channels() == [1, 3] => three()
            .or_else(|| find(group, &["y"]).map(|y| vec![y]))
            .or_else(|| only().filter(|_| find(group, &["a"]).is_none())),
        kind => {
            let letter: &[&str] = match kind {
                Kind::Alpha => &["a"],
                Kind::Depth => &["z", "t"],
                Kind::Id => &["i", "id"],
                _ => &["v"],
            };
            only().or_else(|| {
                find(group, letter)
                    .or_else(|| find(group, &["r", "x", "y"]))
                    .map(|c| vec![c])
            })
        }
    }
}

/// A file without a known colour, but with only one group that could be the colour.
fn only_color(groups: &[Group], taken: &[Candidate], notes: &mut Vec<String>) -> Option<Candidate> {
    let mut free = groups.iter().enumerate().filter(|(index, group)| {
        let letters = find(group, &["r"]).is_some() || find(group, &["y"]).is_some();
        letters && pick(&Kind::Color, group).is_some() && taken.iter().all(|t| t.group != *index)
    });
    let (index, group) = free.next()?;
    if free.next().is_some() {
        return None;
    }
    notes.push(format!(
        "layer {} is used as colour: it is the only candidate",
        group.name
    ));
    Some(Candidate {
        mapped: Mapped {
            layer: Layer::COLOR,
            part: group.part,
            channels: pick(&Kind::Color, group)?,
            adjust: Adjust::AsIs,
            divide: Divide::No,
            derived: false,
        },
        rank: 0,
        group: index,
    })
}

/// The caller's assignment: the name of a group or a list of channels.
fn assigned(layer: &Layer, name: &str, headers: &[Header], groups: &[Group]) -> Result<Mapped> {
    let last = |g: &Group| g.name.rsplit('.').next().unwrap_or_default().to_owned();
    let group = groups
        .iter()
        .find(|g| g.name == name)
        .or_else(|| groups.iter().find(|g| g.name.eq_ignore_ascii_case(name)))
        .or_else(|| groups.iter().find(|g| last(g).eq_ignore_ascii_case(name)));
    let mut mapped = Mapped {
        layer: layer.clone(),
        part: 0,
        channels: Vec::new(),
        adjust: Adjust::AsIs,
        divide: Divide::No,
        derived: false,
    };
    if let Some(group) = group {
        let letters: Vec<&str> = group.channels.iter().map(|(_, c)| c.as_str()).collect();
        mapped.part = group.part;
        mapped.channels = pick(&layer.kind, group).ok_or_else(|| {
            Error::input(format!(
                "layer {name} has the channels {}; {layer} needs {}",
                letters.join(", "),
                needed(&layer.kind)
            ))
        })?;
        let meaning = names::meaning(&group.name);
        let is_id = meaning.as_ref().is_some_and(|m| m.layer.kind == Kind::Id);
        if is_id && matches!(layer.kind, Kind::Light(_)) {
            return Err(Error::input(format!(
                "layer {name} holds object ids, which have no noise to remove; leave it out"
            )));
        }
        if let Some(meaning) = meaning.filter(|m| m.layer.kind == layer.kind) {
            mapped.adjust = meaning.adjust;
        }
        return Ok(mapped);
    }
    let listed: Option<Vec<(usize, usize)>> = name
        .split(',')
        .map(|channel| channel_named(channel.trim(), headers))
        .collect();
    let listed = listed.ok_or_else(|| {
        let known = groups.iter().map(|g| match g.name.as_str() {
            "" => "RGBA",
            name => name,
        });
        Error::unknown("layer", name, known)
    })?;
    mapped.part = listed[0].0;
    if listed.iter().any(|(part, _)| *part != mapped.part)
        || !layer.kind.channels().contains(&listed.len())
    {
        return Err(Error::input(format!(
            "'{name}' names {} channels; {layer} needs {} of one part",
            listed.len(),
            needed(&layer.kind)
        )));
    }
    mapped.channels = listed.into_iter().map(|(_, channel)| channel).collect();
    Ok(mapped)
}

fn needed(kind: &Kind) -> String {
    let counts: Vec<String> = kind.channels().iter().map(usize::to_string).collect();
    format!("{} channels", counts.join(" or "))
}

fn channel_named(name: &str, headers: &[Header]) -> Option<(usize, usize)> {
    headers.iter().enumerate().find_map(|(part, header)| {
        let mut list = header.channels.list.iter();
        let index = list.position(|c| text(c.name.as_slice()) == name)?;
        Some((part, index))
    })
}

/// Selects the best candidate of every layer that was not assigned. Also returns those that could be the colour.
fn choose(
    layers: &mut Vec<Mapped>,
    mut candidates: Vec<Candidate>,
    groups: &[Group],
    headers: &[Header],
) -> Vec<(Mapped, String)> {
    let mut others = Vec::new();
    let frame = |layers: &[Mapped]| {
        layers
            .iter()
            .find(|m| m.layer == Layer::COLOR)
            .map(|m| m.part)
    };
    // Colour first: it determines the size of the others.
    candidates.sort_by_key(|c| (c.mapped.layer != Layer::COLOR, c.rank));
    if layers.iter().all(|m| m.layer != Layer::COLOR)
        && let Some(color) = candidates
            .first()
            .filter(|c| c.mapped.layer == Layer::COLOR)
    {
        layers.push(color.mapped.clone());
    }
    let fits = |c: &Candidate, part: Option<usize>| {
        part.is_none_or(|p| same_window(&headers[c.mapped.part], &headers[p]))
    };
    let part = frame(layers);
    candidates.sort_by_key(|c| (!fits(c, part), c.rank));
    for candidate in candidates {
        // A channel that was requested under another name is not used twice.
        let taken = layers.iter().any(|m| {
            m.layer == candidate.mapped.layer
                || (m.part == candidate.mapped.part
                    && m.channels
                        .iter()
                        .any(|c| candidate.mapped.channels.contains(c)))
        });
        if !taken {
            layers.push(candidate.mapped);
        } else if candidate.mapped.layer == Layer::COLOR
            && !groups[candidate.group].name.is_empty()
            && layers[0].channels != candidate.mapped.channels
        {
            let name = groups[candidate.group].name.clone();
            others.push((candidate.mapped, name));
        }
    }
    others
}

pub(super) fn same_window(a: &Header, b: &Header) -> bool {
    a.layer_size == b.layer_size
        && a.own_attributes.layer_position == b.own_attributes.layer_position
}

/// Omits layers that do not cover the data window of the colour, with a note.
fn match_sizes(
    layers: &mut Vec<Mapped>,
    headers: &[Header],
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(first) = layers
        .iter()
        .find(|m| m.layer == Layer::COLOR)
        .or_else(|| layers.first())
    else {
        return Ok(());
    };
    let frame = &headers[first.part];
    let place = |h: &Header| {
        let at = h.own_attributes.layer_position;
        format!("{} at ({}, {})", size_of(h), at.0, at.1)
    };
    let name = first.layer.clone();
    let mut wrong = None;
    layers.retain(|m| {
        let header = &headers[m.part];
        let fits = same_window(header, frame);
        if !fits {
            let message = format!(
                "layer {} is {}, {name} is {}; layers must cover the same pixels",
                m.layer,
                place(header),
                place(frame)
            );
            if options.layers.iter().any(|(layer, _)| *layer == m.layer) {
                wrong.get_or_insert(message);
            } else {
                notes.push(format!("{message}; it is preserved but not used"));
            }
        }
        fits
    });
    wrong.map_or(Ok(()), |message| Err(Error::input(message)))
}

/// A second half without a first: two buffers with equal numbers of samples, of which the colour is the first.
fn second_half(layers: &mut Vec<Mapped>) {
    let find = |part| {
        layers
            .iter()
            .find(|m| m.layer == Layer::new(Kind::Color, part))
    };
    if let (Some(color), None, Some(_)) = (find(Part::Mean), find(Part::HalfA), find(Part::HalfB)) {
        let half = Mapped {
            layer: Layer::new(Kind::Color, Part::HalfA),
            derived: true,
            ..color.clone()
        };
        layers.push(half);
    }
}
