//! The definition, applied to the layers of a frame.

use super::around::is_part;
use super::{Frames, Neural, features, three};
use crate::method::carried;
use crate::{Error, Frame, Image, Kind, Layer, Result};
use limpid_reference::definition::around::{self, DenoisedFrame};
use limpid_reference::definition::neural::{self, ImageFacts};
use limpid_reference::definition::svgf::{History, integrate};

impl Neural {
    /// The definition on the next frame of a sequence: the result, and the state for the following frame if history is used.
    #[doc(hidden)]
    pub fn define_next(
        &self,
        frame: &Frame,
        history: Option<&History>,
    ) -> Result<(Frame, Option<History>)> {
        let Some(setup) = self.past(&frame.shape())? else {
            return Ok((still(self, frame)?, None));
        };
        let features = setup.features(frame);
        let motion = frame.get(Kind::Motion);
        let light = setup.demodulated(frame)?;
        let (color, moments) = integrate(&light, &features, motion.zip(history), &setup.settings);
        let mut blend = setup.modulated(&color, frame)?;
        for kind in [Kind::Albedo, Kind::Normal, Kind::Depth] {
            if let Some(image) = frame.get(kind.clone()) {
                blend.insert(kind, image.clone())?;
            }
        }
        let mut out = still(self, &blend)?;
        let mut shown = None;
        if !self.no_taa {
            let last = history.and_then(|h| h.shown.as_ref());
            let (resolved, color) = setup.resolved(&out, frame, last)?;
            (out, shown) = (resolved, Some(color));
        }
        let left = History {
            color,
            moments,
            features,
            shown,
        };
        Ok((out, Some(left)))
    }

    /// The definition on a frame of a sequence, with those before and after it.
    #[doc(hidden)]
    pub fn define_among(&self, frames: &[Frame], at: usize) -> Result<Frame> {
        let one_of = |method: &Self, frame: &Frame| {
            let made = still(method, frame)?;
            let get = |kind: Kind| frame.get(kind).cloned();
            let mut layers = vec![frame.color()?.clone()];
            let mut results = vec![made.color()?.clone()];
            let mut parts = Vec::new();
            for (layer, channels) in carried(&frame.shape()) {
                let bare = method.facts.bare.iter().any(|(l, _)| *l == layer);
                if !bare {
                    if is_part(&layer, channels, layers[0].channels()) {
                        parts.push(layers.len());
                    }
                    layers.push(frame.require(layer.clone())?.clone());
                    results.push(made.require(layer)?.clone());
                }
            }
            for (layer, _) in &method.facts.bare {
                results.push(made.require(layer.clone())?.clone());
            }
            Ok::<_, Error>(DenoisedFrame {
                layers,
                results,
                parts,
                albedo: get(Kind::Albedo),
                normal: get(Kind::Normal),
                depth: get(Kind::Depth),
                motion: frame.require(Kind::Motion)?.clone(),
            })
        };
        let first = at.saturating_sub(self.around);
        let last = (at + self.around + 1).min(frames.len());
        // The first frame decides which light is filtered by itself.
        let mut decided = self.measured(&frames[0])?;
        decided.facts.delay = Some((0, 0));
        let mut seen = Vec::new();
        for frame in &frames[first..last] {
            seen.push(one_of(&decided.measured(frame)?.alone(), frame)?);
        }
        let own = decided.measured(&frames[at])?.alone();
        let whole = own.whole();
        let networks = Frames::of(self.quality)
            .ok_or_else(|| Error::unsupported("this build has no networks for sequences"))?;
        let weigh = networks.weigh.turned(0);
        let blended = around::blended(&seen, at - first, self.around, weigh, whole);
        let (x, divisor) = around::inputs(&blended, whole);
        let mut samples = Frame::new(blended.seen.layers[0].clone())?;
        let bare = |layer: &Layer| own.facts.bare.iter().any(|(l, _)| l == layer);
        let with = carried(&frames[at].shape());
        let with: Vec<Layer> = with
            .into_iter()
            .map(|(l, _)| l)
            .filter(|l| !bare(l))
            .collect();
        for (layer, image) in with.iter().zip(&blended.seen.layers[1..]) {
            samples.insert(layer.clone(), image.clone())?;
        }
        let means = &blended.seen.results;
        let mut out = mean_of_turns(self.turns()?, |turn| {
            let guides = neural::guides(&x, networks.guides.turned(turn));
            let made = filtered(&samples, whole, &guides, &divisor)?;
            let mixed = |image, mean| around::mixed(image, mean, &guides, &blended.found);
            let mut out = Frame::new(mixed(made.color()?, &means[0]))?;
            for (layer, mean) in with.iter().zip(&means[1..]) {
                out.insert(layer.clone(), mixed(made.require(layer.clone())?, mean))?;
            }
            Ok(out)
        })?;
        for ((layer, _), mean) in own.facts.bare.iter().zip(&means[1 + with.len()..]) {
            out.insert(layer.clone(), mean.clone())?;
        }
        Ok(out)
    }
}

/// A single frame without history. Light without albedo is a picture of its own.
fn still(method: &Neural, frame: &Frame) -> Result<Frame> {
    let mut rest = frame.clone();
    let mut lights = Vec::new();
    for (layer, whole) in &method.facts.bare {
        let Some(light) = rest.remove(layer.clone()) else {
            continue;
        };
        let mut alone = Frame::new(light)?;
        for kind in [Kind::Normal, Kind::Depth] {
            if let Some(image) = frame.get(kind.clone()) {
                alone.insert(kind, image.clone())?;
            }
        }
        lights.push((layer.clone(), guided(method, &alone, *whole)?));
    }
    let mut out = guided(method, &rest, method.whole())?;
    for (layer, made) in lights {
        out.insert(layer, made.color()?.clone())?;
    }
    Ok(out)
}

/// Colour and the layers that are filtered with its weights.
fn guided(method: &Neural, frame: &Frame, whole: ImageFacts) -> Result<Frame> {
    let shape = frame.shape();
    let color = frame.color()?;
    let [albedo, normal, depth] = features(&shape);
    let layers = neural::Layers {
        color,
        albedo: frame.get(Kind::Albedo).filter(|_| albedo),
        normal: frame.get(Kind::Normal).filter(|_| normal),
        depth: frame.get(Kind::Depth).filter(|_| depth),
    };
    let (x, divisor) = neural::inputs(&layers, whole);
    let loaded = method.loaded()?;
    mean_of_turns(method.turns()?, |turn| {
        let guides = neural::guides(&x, loaded.turned(turn));
        filtered(frame, whole, &guides, &divisor)
    })
}

/// The mean of the results of so many mirrored and turned networks.
fn mean_of_turns(turns: usize, result: impl Fn(usize) -> Result<Frame>) -> Result<Frame> {
    let mut mean = result(0)?;
    for turn in 1..turns {
        let (next, share) = (result(turn)?, 1.0 / (turn + 1) as f32);
        let mut out = Frame::empty(mean.size())?;
        for (layer, image) in mean.layers() {
            let (mut image, next) = (image.clone(), next.require(layer.clone())?);
            for (a, b) in image.data_mut().iter_mut().zip(next.data()) {
                *a += (b - *a) * share;
            }
            out.insert(layer.clone(), image)?;
        }
        mean = out;
    }
    Ok(mean)
}

/// The layers filtered with the planes of a network.
fn filtered(frame: &Frame, whole: ImageFacts, guides: &Image, divisor: &Image) -> Result<Frame> {
    let color = frame.color()?;
    let (w, h) = (color.width(), color.height());
    let divisor = neural::divided(divisor, guides);
    let others = carried(&frame.shape());
    let planes = 3 + others.iter().map(|(_, n)| n).sum::<usize>();
    let mut payload = Image::new(w, h, planes);
    let over = |v: f32, i: usize, c: usize| v * whole.exposure / divisor.plane(c)[i];
    for i in 0..w * h {
        for (c, v) in three(color, i).into_iter().enumerate() {
            payload.plane_mut(c)[i] = over(v, i, c);
        }
    }
    let mut plane = 3;
    for (layer, channels) in &others {
        let image = frame.require(layer.clone())?;
        for c in 0..*channels {
            let to = payload.plane_mut(plane + c).iter_mut();
            for (i, (to, v)) in to.zip(image.plane(c)).enumerate() {
                *to = match layer.kind {
                    Kind::Alpha => *v,
                    _ => over(*v, i, c),
                };
            }
        }
        plane += channels;
    }
    let result = neural::filtered(&payload, guides);
    let divisor = neural::filtered_divisor(&divisor, guides);
    let made = |first: usize, channels: usize, alpha: bool| {
        Image::from_fn(w, h, channels, |x, y, c| {
            let v = result.get(x, y, first + c);
            match alpha {
                true => v,
                false => v * divisor.get(x, y, c) / whole.exposure,
            }
        })
    };
    let mut out = Frame::new(made(0, color.channels(), false))?;
    let mut plane = 3;
    for (layer, channels) in others {
        let alpha = layer.kind == Kind::Alpha;
        out.insert(layer, made(plane, channels, alpha))?;
        plane += channels;
    }
    Ok(out)
}
