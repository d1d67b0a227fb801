//! The definition, applied to the layers of a frame.

use super::Svgf;
use super::lights::{Light, planes};
use crate::definition::atrous::modulate;
use crate::definition::front;
use crate::definition::svgf::{Features, History, RESOLVE, features, svgf};
use crate::definition::taa::taa;
use crate::{Frame, Image, Kind, Result};

impl Svgf {
    /// The definition on the next frame of a sequence: the result, and what is left to the frame after it.
    #[doc(hidden)]
    pub fn define_next(
        &self,
        frame: &Frame,
        history: Option<&History>,
    ) -> Result<(Frame, History)> {
        let setup = self.setup(&frame.shape())?;
        let albedo = frame.get(Kind::Albedo).filter(|_| setup.layers.albedo);
        let color = frame.color()?;
        let over = |image: &Image, divide: bool| match albedo {
            Some(albedo) => modulate(image, albedo, divide),
            None => image.clone(),
        };
        let (w, h) = (color.width(), color.height());
        let mut light = Image::new(w, h, setup.colors + planes(&setup.lights));
        let put = |light: &mut Image, first: usize, image: &Image| {
            for k in 0..image.channels() {
                light.plane_mut(first + k).copy_from_slice(image.plane(k));
            }
        };
        put(&mut light, 0, &over(color, true));
        for Light { layer, spot } in &setup.lights {
            let image = frame.require(layer.clone())?;
            let first = setup.colors + spot.plane;
            match spot.albedo {
                true => put(&mut light, first, &over(image, true)),
                false => put(&mut light, first, image),
            }
        }
        let depth = match (frame.get(Kind::Depth), frame.get(Kind::Albedo)) {
            (Some(depth), Some(albedo)) if setup.signed => Some(signed(depth, albedo)),
            (depth, _) => depth.cloned(),
        };
        let features: Features = features(
            frame.get(Kind::Normal),
            depth.as_ref(),
            frame.get(Kind::Position),
            frame.get(Kind::Id),
            frame.size(),
        );
        let motion = frame.get(Kind::Motion);
        let (all, mut left) = svgf(&light, &features, motion, history, &setup.settings);
        let part = |first: usize, count: usize| {
            Image::from_fn(w, h, count, |x, y, k| all.get(x, y, first + k))
        };
        let clean = over(&part(0, setup.colors), false);
        let mut made = clean.clone();
        if !self.no_taa {
            let last = history.filter(|_| motion.is_some());
            made = taa(&made, motion, last.and_then(|h| h.shown.as_ref()), RESOLVE);
            left.shown = Some(made.clone());
        }
        let mut out = Frame::new(made.clone())?;
        for Light { layer, spot } in &setup.lights {
            let light = part(setup.colors + spot.plane, spot.channels);
            if layer.kind == Kind::Alpha {
                out.insert(layer.clone(), light)?;
                continue;
            }
            let light = over(&light, false);
            // What the last step does to the colour, so that lights still add up to it.
            let change = |x: usize, y: usize, k: usize| {
                let value = |image: &Image| match spot.channels == setup.colors {
                    true => image.get(x, y, k),
                    false => front::brightness(image, x, y),
                };
                let (before, after) = (value(&clean), value(&made));
                if before > 0.0 { after / before } else { 1.0 }
            };
            let light = Image::from_fn(w, h, spot.channels, |x, y, k| {
                light.get(x, y, k) * change(x, y, k)
            });
            out.insert(layer.clone(), light)?;
        }
        Ok((out, left))
    }
}

/// Depth, negative for emitters: no two pixels of different sign are ever alike.
fn signed(depth: &Image, albedo: &Image) -> Image {
    let size = depth.size();
    Image::from_fn(size.width, size.height, 1, |x, y, _| {
        let emits = front::emits(albedo, x, y);
        depth.get(x, y, 0) * if emits { -1.0 } else { 1.0 }
    })
}
