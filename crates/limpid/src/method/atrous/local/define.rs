//! The definition of the filter by local noise, applied to the layers of a frame.

use super::{ANY, AROUND, DEVIATIONS, LEAST, SHARE, halves, kinds};
use crate::method::atrous::Atrous;
use crate::method::window::twice;
use crate::{Frame, Image, Kind, Layer, Part, Result};
use limpid_reference::definition::atrous;
use limpid_reference::definition::atrous::{Filter, Guide, stored};
use limpid_reference::definition::front;
use limpid_reference::definition::front::Surface;
use limpid_reference::definition::nfor::DARK;
use limpid_reference::definition::window::tent;

/// The definition.
pub(in crate::method::atrous) fn define(method: &Atrous, frame: &Frame) -> Result<Frame> {
    let shape = frame.shape();
    let setup = method.local_setup(&shape)?;
    let size = frame.size();
    let (w, h, n) = (size.width, size.height, setup.colors);
    let there = kinds(&shape);
    let get = |k: Kind| frame.get(k.clone()).filter(|_| there.contains(&k));
    let layers = front::Layers {
        albedo: get(Kind::Albedo),
        normal: get(Kind::Normal),
        depth: get(Kind::Depth).map(|d| (d, ANY)),
        position: get(Kind::Position).map(|p| (p, method.scale())),
    };
    let surface = front::surface(&layers, size, n, method.divides(), method.exposure());
    let over = |image: &Image| divided(image, &surface.divide);
    let (light, noise, share, seen) = light(method, frame, &surface, &over)?;
    let guide = tent(&seen, 1, 1.0, 0.0);
    let mut payload = Image::new(w, h, setup.planes());
    let mut squared = vec![false; setup.planes()];
    squared[n] = true;
    for item in &setup.items {
        let image = match &item.layer {
            l if l.kind == Kind::Color && l.part == Part::Mean => light.clone(),
            l if l.kind == Kind::Color => noise.clone(),
            l if l.kind == Kind::Alpha => frame.require(l.clone())?.clone(),
            l => {
                let image = over(frame.require(l.clone())?);
                Image::from_fn(w, h, image.channels(), |x, y, c| {
                    image.get(x, y, c) * share.get(x, y, 0)
                })
            }
        };
        for k in 0..item.packed_at.channels {
            let plane = payload.plane_mut(item.packed_at.plane + k);
            plane.copy_from_slice(image.plane(k));
        }
    }
    let payload = stored(&payload, setup.half);
    let packed = front::packed(&layers, &surface, &guide);
    let one = |c: usize| Image::from_planes(w, h, 1, packed.plane(c).to_vec());
    let planes: Vec<Image> = (0..packed.channels()).map(one).collect::<Result<_>>()?;
    let sigmas = setup.local.map(|l| l.sigmas).unwrap_or_default();
    let filter = Filter {
        taps: &setup.taps,
        levels: setup.levels,
        color: None,
        color_from: 0,
        grid: 1,
        guides: planes
            .iter()
            .zip(sigmas)
            .map(|(image, (sigma, widens))| Guide {
                image,
                sigma,
                widens,
            })
            .collect(),
        border: method.border,
        energy: method.energy,
        half: setup.half,
        local: Some(atrous::Local {
            k: DEVIATIONS,
            least: LEAST,
            first: Some((&guide, SHARE)),
        }),
        squared: &squared,
    };
    let levels = atrous::levels(&payload, n, &filter);
    let result = atrous::synthesis(&levels, &method.gains);
    let mut out = Frame::empty(size)?;
    for item in &setup.items {
        let variance = item.packed_at.variance;
        if variance && !method.variance {
            continue;
        }
        let by = match variance {
            true => bright(&surface.divide).map(|v| v * v),
            false => surface.divide.clone(),
        };
        let image = Image::from_fn(w, h, item.packed_at.channels, |x, y, k| {
            let v = result.get(x, y, item.packed_at.plane + k);
            let k = if by.channels() == item.packed_at.channels {
                k
            } else {
                0
            };
            match item.layer.kind {
                Kind::Alpha => v,
                _ => v.max(0.0) * by.get(x, y, k),
            }
        });
        out.insert(item.layer.clone(), image)?;
    }
    Ok(out)
}

/// Divides by the divisor; by its first plane if the numbers of planes differ.
fn divided(image: &Image, by: &Image) -> Image {
    let same = by.channels() == image.channels();
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| image.get(x, y, c) / by.get(x, y, if same { c } else { 0 }),
    )
}

fn bright(image: &Image) -> Image {
    Image::from_fn(image.width(), image.height(), 1, |x, y, _| {
        front::brightness(image, x, y)
    })
}

/// Light, the variance of its brightness, the factor applied to outliers, and the brightness that guides the first level.
fn light(
    method: &Atrous,
    frame: &Frame,
    surface: &Surface,
    over: &dyn Fn(&Image) -> Image,
) -> Result<(Image, Image, Image, Image)> {
    let class = &surface.class;
    let (peak, slope) = twice(AROUND);
    let around = |image: &Image| tent(&bright(image), 2 * AROUND, peak, slope);
    let ratio = |before: &Image, after: &Image| {
        Image::from_fn(class.width(), class.height(), 1, |x, y, _| {
            let before = before.get(x, y, 0);
            match before > 0.0 {
                true => after.get(x, y, 0) / before,
                false => 1.0,
            }
        })
    };
    let both = |a: &Image, b: &Image, f: fn(f32, f32) -> f32| {
        Image::from_fn(a.width(), a.height(), a.channels(), |x, y, c| {
            f(a.get(x, y, c), b.get(x, y, c))
        })
    };
    let keeps = !method.guards();
    if halves(&frame.shape()) {
        let half = |part| frame.require(Layer::new(Kind::Color, part)).map(over);
        let (a, b) = (half(Part::HalfA)?, half(Part::HalfB)?);
        let mean = match keeps {
            true => both(&a, &b, |a, b| 0.5 * (a + b)),
            false => over(frame.color()?),
        };
        let (a, b) = match keeps {
            true => (a, b),
            false => (
                front::limit_by_other(&a, &b, class, DARK),
                front::limit_by_other(&b, &a, class, DARK),
            ),
        };
        let noise = around(&both(&a, &b, |a, b| 0.25 * (a - b) * (a - b)));
        let share = match keeps {
            true => class.map(|_| 1.0),
            false => ratio(&bright(&mean), &bright(&both(&a, &b, |a, b| 0.5 * (a + b)))),
        };
        let light = Image::from_fn(mean.width(), mean.height(), mean.channels(), |x, y, c| {
            mean.get(x, y, c) * share.get(x, y, 0)
        });
        // A file whose colour is not the mean of its halves is guided by the halves.
        let seen = match keeps {
            true => bright(&light),
            false => bright(&both(&a, &b, |a, b| 0.5 * (a + b))),
        };
        return Ok((light, noise, share, seen));
    }
    let before = over(frame.color()?);
    let light = match keeps {
        true => before.clone(),
        false => front::limit_by_itself(&before, class, DARK, 1),
    };
    let share = ratio(&bright(&before), &bright(&light));
    let known = frame.get(Layer::new(Kind::Color, Part::Variance));
    if let Some(known) = known.filter(|v| v.channels() == light.channels()) {
        let divided = bright(&over(&over(known)));
        let limited = both(&divided, &share, |v, s| v * s * s);
        let seen = bright(&light);
        return Ok((light, around(&limited), share, seen));
    }
    let n = light.channels();
    let sharp: Vec<&Image> = [Kind::Albedo, Kind::Normal]
        .into_iter()
        .filter(|kind| kinds(&frame.shape()).contains(kind))
        .filter_map(|kind| frame.get(kind))
        .collect();
    let planes = 3 * sharp.len();
    let sharp = (planes > 0).then(|| {
        Image::from_fn(light.width(), light.height(), planes, |x, y, c| {
            sharp[c / 3].get(x, y, c % 3)
        })
    });
    let board = front::checkerboard(&light, sharp.as_ref(), planes, class, 1);
    let squares = Image::from_fn(light.width(), light.height(), n, |x, y, c| {
        let off = light.get(x, y, c) - board.mean.get(x, y, c);
        off * off / (1.0 + board.share.get(x, y, 0))
    });
    let seen = bright(&light);
    Ok((light, around(&squares), share, seen))
}
