//! The definition, applied to the layers of a frame.

use super::{Layers, Nfor, channels, choice_layer, error_layer, features, halves};
use crate::method::carried;
use crate::{Frame, Image, Kind, Layer, Part, Result};
use limpid_reference::definition::front;
use limpid_reference::definition::front::Surface;
use limpid_reference::definition::nfor::{Buffers, DARK, nfor};
use limpid_reference::definition::nlm::{Filter, Guide};
use limpid_reference::definition::window::tent;

pub(super) fn run(method: &Nfor, frame: &Frame) -> Result<Frame> {
    let shape = frame.shape();
    let channels = channels(&shape)?;
    let surface = surface(method, frame, channels);
    let divide = |image: &Image| apply(image, &surface.divide, |v, d| v / d);
    let multiply = |image: &Image| apply(image, &surface.divide, |v, d| v.max(0.0) * d);
    let half = |part| frame.require(Layer::new(Kind::Color, part)).map(divide);
    let buffers = if halves(&shape) {
        Buffers::Two([half(Part::HalfA)?, half(Part::HalfB)?])
    } else {
        Buffers::One(divide(frame.color()?))
    };
    let settings = method.settings();
    let follow = followed(&buffers, &surface, settings.cell);
    let layers = carried(&shape);
    let mut extras = Vec::new();
    for (layer, _) in &layers {
        let image = frame.require(layer.clone())?;
        extras.push(match layer.kind {
            Kind::Alpha => image.clone(),
            _ if method.facts.bare.contains(layer) => apply(image, &follow, |v, s| v * s),
            _ => apply(&divide(image), &follow, |v, s| v * s),
        });
    }
    let made = nfor(&buffers, &surface, &extras, &settings);
    let mut out = Frame::new(multiply(&made.color))?;
    let mut lights: Vec<(Layer, Image)> = Vec::new();
    for ((layer, _), image) in layers.into_iter().zip(&made.others) {
        match layer.kind {
            Kind::Alpha => out.insert(layer, image.map(|v| v.clamp(0.0, 1.0)))?,
            _ if method.facts.bare.contains(&layer) => {
                out.insert(layer, image.map(|v| v.max(0.0)))?;
            }
            _ => lights.push((layer, multiply(image))),
        }
    }
    if method.facts.adds_up {
        balance(out.color()?, &mut lights);
    }
    for (layer, image) in lights {
        out.insert(layer, image)?;
    }
    if method.layers == Layers::All {
        let larger = |x, y, _| made.excess.get(x, y, 0).max(made.spread.get(x, y, 0));
        let size = frame.size();
        let error = Image::from_fn(size.width, size.height, 1, larger);
        out.insert(error_layer("error"), error)?;
        out.insert(error_layer("excess"), made.excess)?;
        out.insert(error_layer("spread"), made.spread)?;
        for k in 0..made.choice.channels() {
            let (w, h) = (made.choice.width(), made.choice.height());
            let plane = Image::from_planes(w, h, 1, made.choice.plane(k).to_vec())?;
            out.insert(choice_layer(k), plane)?;
        }
    }
    Ok(out)
}

/// A layer over the divisor, plane by plane; a divisor with fewer planes repeats its last one.
fn apply(image: &Image, by: &Image, f: impl Fn(f32, f32) -> f32) -> Image {
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| f(image.get(x, y, c), by.get(x, y, c.min(by.channels() - 1))),
    )
}

/// The factor that clamping applies to the brightness of the mean; light layers use it too.
fn followed(buffers: &Buffers, surface: &Surface, cell: usize) -> Image {
    let (before, after) = match buffers {
        Buffers::Two([a, b]) => {
            let limit = |a: &Image, b: &Image| front::limit_by_other(a, b, &surface.class, DARK);
            (vec![a.clone(), b.clone()], vec![limit(a, b), limit(b, a)])
        }
        Buffers::One(y) => (
            vec![y.clone()],
            vec![front::limit_by_itself(y, &surface.class, DARK, cell)],
        ),
    };
    Image::from_fn(
        surface.class.width(),
        surface.class.height(),
        1,
        |x, y, _| {
            let sum = |images: &[Image]| {
                images
                    .iter()
                    .map(|i| front::brightness(i, x, y))
                    .sum::<f32>()
            };
            let before = sum(&before);
            if before > 0.0 {
                sum(&after) / before
            } else {
                1.0
            }
        },
    )
}

/// Light layers, scaled to add up to the colour, none below zero.
fn balance(color: &Image, lights: &mut [(Layer, Image)]) {
    let channels = color.channels();
    let mut parts: Vec<&mut Image> = lights
        .iter_mut()
        .map(|(_, l)| l)
        .filter(|l| l.channels() == channels)
        .collect();
    let count = parts.len() as f32;
    for (i, c) in color.data().iter().enumerate() {
        let sum: f32 = parts.iter().map(|l| l.data()[i].max(0.0)).sum();
        for l in &mut parts {
            let v = &mut l.data_mut()[i];
            *v = if sum > 0.0 {
                v.max(0.0) * (c / sum)
            } else {
                c / count
            };
        }
    }
}

fn surface(method: &Nfor, frame: &Frame, channels: usize) -> Surface {
    let kinds = features(&frame.shape());
    let get = |kind: Kind| frame.get(kind.clone()).filter(|_| kinds.contains(&kind));
    let layers = front::Layers {
        albedo: get(Kind::Albedo),
        normal: get(Kind::Normal),
        depth: get(Kind::Depth).map(|d| (d, method.facts.depth)),
        position: get(Kind::Position).map(|p| (p, method.facts.position)),
    };
    let noisy = method.noisy();
    let mut surface = front::surface(
        &layers,
        frame.size(),
        channels,
        !noisy,
        method.facts.exposure,
    );
    if let (true, Some(all)) = (noisy, surface.features.as_mut()) {
        let (w, h) = (all.width(), all.height());
        let mut first = 0;
        for kind in kinds {
            let n = frame.get(kind.clone()).map_or(0, Image::channels);
            let group = Image::from_fn(w, h, n, |x, y, c| all.get(x, y, first + c));
            let variance = known(frame, &kind).unwrap_or_else(|| {
                let noise = front::feature_noise(&group);
                Image::from_fn(w, h, n, |x, y, _| noise.get(x, y, 0))
            });
            let filter = Filter {
                radius: 7,
                guide: Some(Guide {
                    image: &group,
                    variance: &variance,
                    k: 1.0,
                    patch: 3,
                }),
                features: Vec::new(),
                patchwise: false,
                symmetric: false,
            };
            let made = filter.run(&group, None).image;
            for c in 0..n {
                all.plane_mut(first + c).copy_from_slice(made.plane(c));
            }
            first += n;
        }
    }
    surface
}

/// The variance of a feature, if the frame has it.
fn known(frame: &Frame, kind: &Kind) -> Option<Image> {
    if *kind == Kind::Position {
        return None;
    }
    let part = |p| frame.get(Layer::new(kind.clone(), p));
    let variance = match (part(Part::Variance), part(Part::HalfA), part(Part::HalfB)) {
        (Some(v), ..) => v.clone(),
        (None, Some(a), Some(b)) => tent(&apply(a, b, |a, b| 0.25 * (a - b).powi(2)), 3, 1.0, 0.0),
        _ => return None,
    };
    Some(match kind {
        Kind::Depth => apply(&variance, frame.get(Kind::Depth)?, |v, d| {
            if d > 0.0 { v / (d * d) } else { 0.0 }
        }),
        _ => variance,
    })
}
