//! The definition, applied to the layers of a frame.

use super::lights::{Light, planes};
use super::{Setup, Svgf};
use crate::{Frame, Image, Kind, Result};
use limpid_kernel_render::svgf::Origin;
use limpid_reference::definition::atrous::modulate;
use limpid_reference::definition::front;
use limpid_reference::definition::svgf::{Features, History, features, svgf};
use limpid_reference::definition::taa::{nearest_motion, soften_edges, taa};
use std::borrow::Cow;

impl Svgf {
    /// The definition on the next frame of a sequence: the result, and the state for the following frame.
    #[doc(hidden)]
    pub fn define_next(
        &self,
        frame: &Frame,
        history: Option<&History>,
    ) -> Result<(Frame, History)> {
        let setup = self.setup(&frame.shape())?;
        let light = setup.demodulated(frame)?;
        let features = setup.features(frame);
        let motion = frame.get(Kind::Motion);
        let (all, mut left) = svgf(&light, &features, motion, history, &setup.settings);
        let clean = setup.modulated(&all, frame)?;
        if self.no_taa {
            return Ok((clean, left));
        }
        let last = history.filter(|_| motion.is_some());
        let shown = last.and_then(|h| h.shown.as_ref());
        let (out, shown) = setup.resolved(&clean, frame, shown)?;
        left.shown = Some(shown);
        Ok((out, left))
    }
}

impl Setup {
    fn over(&self, image: &Image, frame: &Frame, divide: bool) -> Image {
        let albedo = frame.get(Kind::Albedo).filter(|_| self.layers.albedo);
        match albedo {
            Some(albedo) => {
                let size = albedo.size();
                let all = |x, y| front::divisor(std::array::from_fn(|k| albedo.get(x, y, k)));
                let divisor = Image::from_fn(size.width, size.height, 3, |x, y, k| all(x, y)[k]);
                modulate(image, &divisor, divide)
            }
            None => image.clone(),
        }
    }

    /// Colour and all layers filtered along with it, divided by albedo, side by side.
    pub(in crate::method) fn demodulated(&self, frame: &Frame) -> Result<Image> {
        let color = frame.color()?;
        let (w, h) = (color.width(), color.height());
        let mut light = Image::new(w, h, self.colors + planes(&self.lights));
        let put = |light: &mut Image, first: usize, image: &Image| {
            for k in 0..image.channels() {
                light.plane_mut(first + k).copy_from_slice(image.plane(k));
            }
        };
        put(&mut light, 0, &self.over(color, frame, true));
        for Light { layer, packed_at } in &self.lights {
            let image = frame.require(layer.clone())?;
            let first = self.colors + packed_at.plane;
            match packed_at.albedo {
                true => put(&mut light, first, &self.over(image, frame, true)),
                false => put(&mut light, first, image),
            }
        }
        Ok(light)
    }

    /// The inverse: a frame with colour and all layers filtered along with it.
    pub(in crate::method) fn modulated(&self, all: &Image, frame: &Frame) -> Result<Frame> {
        let (w, h) = (all.width(), all.height());
        let part = |first: usize, count: usize| {
            Image::from_fn(w, h, count, |x, y, k| all.get(x, y, first + k))
        };
        let mut out = Frame::new(self.over(&part(0, self.colors), frame, false))?;
        for Light { layer, packed_at } in &self.lights {
            let light = part(self.colors + packed_at.plane, packed_at.channels);
            let light = match packed_at.albedo {
                true => self.over(&light, frame, false),
                false => light,
            };
            out.insert(layer.clone(), light)?;
        }
        Ok(out)
    }

    /// The features that distinguish surfaces.
    pub(in crate::method) fn features(&self, frame: &Frame) -> Features {
        features(
            frame.get(Kind::Normal),
            self.depth(frame).as_deref(),
            frame.get(Kind::Position),
            frame.get(Kind::Id),
            frame.size(),
        )
    }

    /// The depth layer, negative for emitters if they are known.
    fn depth<'a>(&self, frame: &'a Frame) -> Option<Cow<'a, Image>> {
        let depth = frame.get(Kind::Depth)?;
        Some(match frame.get(Kind::Albedo).filter(|_| self.signed) {
            Some(albedo) => Cow::Owned(signed(depth, albedo)),
            None => Cow::Borrowed(depth),
        })
    }

    /// A result blended with the previous one, and its colour.
    pub(in crate::method) fn resolved(
        &self,
        clean: &Frame,
        frame: &Frame,
        last: Option<&Image>,
    ) -> Result<(Frame, Image)> {
        let before = clean.color()?;
        let size = clean.size();
        let motion = frame.get(Kind::Motion);
        let depth = self
            .depth(frame)
            .filter(|_| self.layers.depth == Origin::Layer);
        let known = motion.zip(depth.as_deref());
        let nearest = known.map(|(motion, depth)| nearest_motion(motion, depth));
        let edges = depth.as_deref().filter(|_| self.resolve.softens);
        let softened = edges.map(|depth| soften_edges(before, depth));
        let new = softened.as_ref().unwrap_or(before);
        let after = taa(new, nearest.as_ref().or(motion), last, self.resolve.step);
        let mut out = Frame::new(after.clone())?;
        for Light { layer, packed_at } in &self.lights {
            let light = clean.require(layer.clone())?;
            if layer.kind == Kind::Alpha {
                out.insert(layer.clone(), light.clone())?;
                continue;
            }
            // The change of the colour, applied to lights too so that they still add up to it.
            let change = |x: usize, y: usize, k: usize| {
                let value = |image: &Image| match packed_at.channels == self.colors {
                    true => image.get(x, y, k),
                    false => front::brightness(image, x, y),
                };
                let (before, after) = (value(before), value(&after));
                if before > 0.0 { after / before } else { 1.0 }
            };
            let light = Image::from_fn(size.width, size.height, packed_at.channels, |x, y, k| {
                light.get(x, y, k) * change(x, y, k)
            });
            out.insert(layer.clone(), light)?;
        }
        Ok((out, after))
    }
}

/// Depth, negated for emitters: pixels of different sign never match.
fn signed(depth: &Image, albedo: &Image) -> Image {
    let size = depth.size();
    Image::from_fn(size.width, size.height, 1, |x, y, _| {
        let emits = front::emits(albedo, x, y);
        depth.get(x, y, 0).abs() * if emits { -1.0 } else { 1.0 }
    })
}
