//! Light layers: whether they add up to the colour, and which of them are without the albedo of the surfaces.

use crate::{Frame, Image, Kind, Layer, Part};
use limpid_reference::definition::front::divisor;

/// Two divisors differ like an edge of a texture from this ratio on.
const EDGE: f32 = 1.15;
/// Neighbours of one surface: the cosine between their normals is at least this, and their depths differ by less than this share.
const SAME: (f32, f32) = (0.98, 0.02);
/// Light counts up to this many times its mean: single samples must not decide.
const MOST: f32 = 8.0;
/// Of larger frames, some rows are looked at.
const PIXELS: usize = 1 << 18;
/// The fewest neighbours on both sides of edges that decide.
const ENOUGH: usize = 64;

/// The light layers of a frame.
fn lights(frame: &Frame) -> impl Iterator<Item = (&Layer, &Image)> {
    let is_light = |layer: &Layer| layer.part == Part::Mean && matches!(layer.kind, Kind::Light(_));
    frame.layers().filter(move |(layer, _)| is_light(layer))
}

/// Whether the light layers with the channels of the colour add up to it, within a hundredth of it nearly everywhere.
pub(super) fn add_up(frame: &Frame, channels: usize) -> bool {
    let lights: Vec<&Image> = lights(frame)
        .map(|(_, image)| image)
        .filter(|image| image.channels() == channels)
        .collect();
    let Some(color) = frame.get(Layer::COLOR).filter(|_| !lights.is_empty()) else {
        return false;
    };
    let off = (0..color.data().len()).filter(|i| {
        let (sum, value): (f32, f32) =
            (lights.iter().map(|l| l.data()[*i]).sum(), color.data()[*i]);
        (sum - value).abs() > 0.01 * value.abs() + 1e-6
    });
    off.count() * 1000 <= color.data().len()
}

/// The light layers that are without albedo, such as Diffuse Indirect of Cycles, whose colour is a layer of its own. Over
/// the albedo they would have its edges, and those would remain in the result.
///
/// Across edges of a texture, such light is even, and other light is even over the albedo. Layers that add up to the colour
/// have its albedo.
pub(super) fn bare(frame: &Frame) -> Vec<Layer> {
    let Some(albedo) = frame.get(Kind::Albedo).filter(|a| a.channels() == 3) else {
        return Vec::new();
    };
    let channels = frame.get(Layer::COLOR).map_or(3, Image::channels);
    if lights(frame).next().is_none() || add_up(frame, channels) {
        return Vec::new();
    }
    let edges = edges(frame, albedo);
    let bare = lights(frame).filter(|(_, light)| is_bare(light, &edges));
    bare.map(|(layer, _)| layer.clone()).collect()
}

/// A pair of neighbours on one surface, the brighter one first, and a channel in which their divisors differ.
struct Edge {
    pixels: [usize; 2],
    channel: usize,
    divisors: [f32; 2],
}

fn edges(frame: &Frame, albedo: &Image) -> Vec<Edge> {
    let (width, height) = (albedo.width(), albedo.height());
    let over = |i: usize| divisor(std::array::from_fn(|c| albedo.plane(c)[i]));
    let normal = frame.get(Kind::Normal).filter(|n| n.channels() == 3);
    let depth = frame.get(Kind::Depth);
    let same = |p: usize, q: usize| {
        let turned = normal.is_some_and(|n| {
            let dot = |p: usize, q: usize| (0..3).map(|c| n.plane(c)[p] * n.plane(c)[q]).sum();
            let (product, squares): (f32, f32) = (dot(p, q), dot(p, p) * dot(q, q));
            product < SAME.0 * squares.sqrt()
        });
        let apart = depth.is_some_and(|d| {
            let (a, b) = (d.plane(0)[p], d.plane(0)[q]);
            (a - b).abs() > SAME.1 * a.abs().max(b.abs())
        });
        !turned && !apart
    };
    let mut found = Vec::new();
    for y in (0..height).step_by((albedo.size().pixels() / PIXELS).max(1)) {
        for x in 0..width {
            let p = y * width + x;
            let right = (x + 1 < width).then_some(p + 1);
            let below = (y + 1 < height).then_some(p + width);
            for q in [right, below].into_iter().flatten() {
                let (a, b) = (over(p), over(q));
                for channel in 0..3 {
                    let (a, b) = (a[channel], b[channel]);
                    let edge = match (a > EDGE * b, b > EDGE * a) {
                        (true, _) => ([p, q], [a, b]),
                        (_, true) => ([q, p], [b, a]),
                        _ => continue,
                    };
                    if !same(p, q) {
                        break;
                    }
                    found.push(Edge {
                        pixels: edge.0,
                        channel,
                        divisors: edge.1,
                    });
                }
            }
        }
    }
    found
}

/// Whether light itself is more even across edges than light over the divisor.
fn is_bare(light: &Image, edges: &[Edge]) -> bool {
    let count = light.data().len() as f64;
    let mean = light
        .data()
        .iter()
        .map(|v| f64::from(v.max(0.0)))
        .sum::<f64>()
        / count;
    let most = f64::from(MOST) * mean;
    let (mut plain, mut over, mut seen) = ([0.0; 2], [0.0; 2], 0);
    for edge in edges {
        let plane = light.plane(edge.channel.min(light.channels() - 1));
        let values = edge.pixels.map(|p| f64::from(plane[p].max(0.0)).min(most));
        if values == [0.0; 2] {
            continue;
        }
        seen += 1;
        for k in 0..2 {
            plain[k] += values[k];
            over[k] += values[k] / f64::from(edge.divisors[k]);
        }
    }
    let uneven = |[a, b]: [f64; 2]| (a.max(1e-30) / b.max(1e-30)).ln().abs();
    seen >= ENOUGH && uneven(plain) < uneven(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 48;

    /// Tiles, and a value that changes from pixel to pixel without them, like noise.
    fn tile(x: usize, y: usize) -> f32 {
        if (x / 8 + y / 8).is_multiple_of(2) {
            0.8
        } else {
            0.2
        }
    }

    fn grain(x: usize, y: usize) -> f32 {
        ((x * 7919 + y * 104_729) % 101) as f32 / 50.0
    }

    #[test]
    fn light_without_albedo_is_recognised() {
        let picture = |f: fn(usize, usize) -> f32| Image::from_fn(SIDE, SIDE, 3, |x, y, _| f(x, y));
        let mut frame = Frame::new(picture(|x, y| tile(x, y) * 3.0 * grain(x, y))).unwrap();
        let light = |name: &str| Layer::from(Kind::Light(name.into()));
        frame.insert(light("DiffInd"), picture(grain)).unwrap();
        frame
            .insert(light("key"), picture(|x, y| 0.5 * tile(x, y) * grain(x, y)))
            .unwrap();
        // Nothing to compare with.
        assert_eq!(bare(&frame), []);
        frame.insert(Kind::Albedo, picture(tile)).unwrap();
        assert_eq!(bare(&frame), [light("DiffInd")]);
        // A floor whose tiles are turned has no edges on one surface.
        let mut turned = frame.clone();
        let normal = Image::from_fn(SIDE, SIDE, 3, |x, y, c| match c {
            0 => f32::from(u8::from(tile(x, y) > 0.5)),
            1 => f32::from(u8::from(tile(x, y) < 0.5)),
            _ => 0.0,
        });
        turned.insert(Kind::Normal, normal).unwrap();
        assert_eq!(bare(&turned), []);
        // What adds up to the colour is part of it.
        let (a, b) = (picture(grain), frame.color().unwrap().clone());
        let rest = Image::from_fn(SIDE, SIDE, 3, |x, y, c| b.get(x, y, c) - a.get(x, y, c));
        frame.insert(light("key"), rest).unwrap();
        assert!(add_up(&frame, 3));
        assert_eq!(bare(&frame), []);
    }
}
