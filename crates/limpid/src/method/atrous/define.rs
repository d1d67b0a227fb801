//! The definition, applied to a frame.

use super::Atrous;
use super::setup::Setup;
use crate::{Frame, Image, Kind, LUMINANCE, Layer, Part, Result};
use limpid_reference::definition::atrous;
use limpid_reference::definition::atrous::{Filter, Guide, dimming, modulate, prefilter, stored};

pub(in crate::method) fn define(method: &Atrous, setup: &Setup, frame: &Frame) -> Result<Frame> {
    let size = frame.size();
    let albedo = frame.get(Kind::Albedo).filter(|_| setup.demodulates);
    let mut payload = Image::new(size.width, size.height, setup.planes());
    let mut squared = vec![false; setup.planes()];
    for item in &setup.items {
        let mut image = frame.require(item.layer.clone())?.clone();
        if item.packed_at.variance {
            image = luminance_variance(&image, albedo);
            squared[item.packed_at.plane] = true;
        } else if let Some(albedo) = albedo.filter(|_| item.packed_at.albedo) {
            image = modulate(&image, albedo, true);
        }
        for k in 0..image.channels() {
            payload
                .plane_mut(item.packed_at.plane + k)
                .copy_from_slice(image.plane(k));
        }
    }
    payload = stored(&payload, setup.half);
    if setup.guard {
        guard(&mut payload, setup.colors, &setup.items);
        payload = stored(&payload, setup.half);
    }
    let mut guides = Vec::new();
    for g in &setup.guides {
        let rounded = setup.half && matches!(g.kind, Kind::Normal | Kind::Albedo);
        let mut image = frame.require(g.kind.clone())?.clone();
        if g.noisy {
            let variance = Layer::new(g.kind.clone(), Part::Variance);
            image = prefilter(&image, frame.require(variance)?);
        }
        // Only packed features are rounded.
        guides.push(stored(&image, rounded && setup.packs()));
    }
    let filter = Filter {
        taps: &setup.taps,
        levels: setup.levels,
        color: setup.color,
        color_from: setup.color_from,
        grid: method.grid(),
        guides: setup
            .guides
            .iter()
            .zip(&guides)
            .map(|(g, image)| Guide {
                image,
                sigma: g.sigma,
                widens: g.widens,
            })
            .collect(),
        border: method.border,
        energy: method.energy,
        half: setup.half,
        local: None,
        squared: &squared,
    };
    let levels = atrous::levels(&payload, setup.colors, &filter);
    let result = atrous::synthesis(&levels, &method.gains);
    let mut out = Frame::empty(size)?;
    for item in &setup.items {
        let channels = if item.packed_at.variance {
            1
        } else {
            item.packed_at.channels
        };
        let mut image = Image::from_fn(size.width, size.height, channels, |x, y, k| {
            result.get(x, y, item.packed_at.plane + k)
        });
        if let Some(albedo) = albedo.filter(|_| item.packed_at.albedo) {
            image = if item.packed_at.variance {
                let ones = Image::new(size.width, size.height, 3).map(|_| 1.0);
                let factor = modulate(&ones, albedo, false);
                Image::from_fn(size.width, size.height, 1, |x, y, _| {
                    let y2: f32 = (0..3).map(|k| LUMINANCE[k] * factor.get(x, y, k)).sum();
                    image.get(x, y, 0) * y2 * y2
                })
            } else {
                modulate(&image, albedo, false)
            };
        }
        out.insert(item.layer.clone(), image)?;
    }
    Ok(out)
}

/// The variance of luminance, of the colour divided by albedo.
fn luminance_variance(variance: &Image, albedo: Option<&Image>) -> Image {
    let divided = match albedo {
        Some(albedo) => modulate(&modulate(variance, albedo, true), albedo, true),
        None => variance.clone(),
    };
    Image::from_fn(variance.width(), variance.height(), 1, |x, y, _| {
        if divided.channels() == 1 {
            divided.get(x, y, 0)
        } else {
            (0..3)
                .map(|k| LUMINANCE[k] * LUMINANCE[k] * divided.get(x, y, k))
                .sum()
        }
    })
}

fn guard(payload: &mut Image, colors: usize, items: &[super::setup::FilteredLayer]) {
    let (width, height) = (payload.width(), payload.height());
    let light = Image::from_fn(width, height, 1, |x, y, _| {
        if colors == 1 {
            payload.get(x, y, 0)
        } else {
            (0..3).map(|k| LUMINANCE[k] * payload.get(x, y, k)).sum()
        }
    });
    let factor = dimming(&light);
    for item in items {
        if item.layer.kind == Kind::Alpha {
            continue;
        }
        let count = if item.packed_at.variance {
            1
        } else {
            item.packed_at.channels
        };
        for k in 0..count {
            let plane = payload.plane_mut(item.packed_at.plane + k);
            for (v, f) in plane.iter_mut().zip(factor.data()) {
                *v *= if item.packed_at.variance { f * f } else { *f };
            }
        }
    }
}
