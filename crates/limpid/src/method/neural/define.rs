//! The definition, applied to the layers of a frame.

use super::{Neural, features, three};
use crate::method::carried;
use crate::{Error, Frame, Image, Kind, Result};
use limpid_reference::definition::neural::{self, Whole};
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
fn guided(method: &Neural, frame: &Frame, whole: Whole) -> Result<Frame> {
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
    let mut mean: Option<Frame> = None;
    for turn in 0..method.turns()? {
        let guides = neural::guides(&x, loaded.turned(turn));
        let next = filtered(frame, whole, &guides, &divisor)?;
        mean = Some(match mean {
            None => next,
            Some(mean) => {
                let share = 1.0 / (turn + 1) as f32;
                let mut out = Frame::empty(frame.size())?;
                for (layer, image) in mean.layers() {
                    let (mut image, next) = (image.clone(), next.require(layer.clone())?);
                    for (a, b) in image.data_mut().iter_mut().zip(next.data()) {
                        *a += (b - *a) * share;
                    }
                    out.insert(layer.clone(), image)?;
                }
                out
            }
        });
    }
    mean.ok_or_else(|| Error::unsupported("no turn of the network"))
}

/// The layers filtered with the planes of a network.
fn filtered(frame: &Frame, whole: Whole, guides: &Image, divisor: &Image) -> Result<Frame> {
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
