//! Frames before and after: how they compare with a frame, what is taken from them, and the last step.
//!
//! The definition is [`limpid_reference::definition::around`]. Layers are fetched along the motion by another crate: the frame itself, then
//! for each distance the frames before and after; on a GPU the channels of each are one element. Weights are maps of the network, in which
//! the pixels of 2×2 blocks are planes.

mod blend;
mod compare;
mod known;
mod mix;
mod noise;
mod trust;

pub use blend::{Blend, BlendWeights};
pub use compare::Compare;
pub use known::GuideInputs;
pub use mix::Mix;
pub use noise::Deviation;
pub use trust::Trust;

use crate::own::own;
use limpid_core::Size;
use limpid_plan::fast_exp::fast_exp;
use limpid_plan::wgsl::{Code, PIXELS, Wgsl, stored};
use limpid_plan::{
    Dispatch, Element, Kernel, Need, PassSlots, Slot, View, WgslStruct, params, tiles,
};
use limpid_reference::definition::around::WEIGHTS;
use limpid_reference::definition::network::BLOCK;

/// Planes of places for each side of a distance: position, and whether it was found.
const PLACE: usize = 3;

/// The size of the maps of weights for an image.
fn map(size: Size) -> Size {
    let half = |n: usize| n.next_multiple_of(BLOCK) / 2;
    Size::new(half(size.width), half(size.height))
}

/// What is relied on of a map of weights.
fn weights_need(slot: &Slot, size: Size) -> Need {
    match slot.element {
        Element::F32 => Need::planes(map(size), 4 * WEIGHTS),
        stored => Need::planes(map(size), WEIGHTS).of(stored),
    }
}

/// What is relied on of fetched frames.
fn frames_need(slot: &Slot, size: Size, radius: usize, channels: usize) -> Need {
    let frames = 2 * radius + 1;
    match slot.element {
        Element::F32 => Need::planes(size, frames * channels),
        stored => Need::planes(size, frames).of(stored),
    }
}

params! {
    /// Parameters of the shaders.
    struct Params { width: u32, height: u32, map_width: u32, map_height: u32, factor: f32 }
}

/// A shader with a thread for each pixel.
fn shader(kernel: &impl Kernel, pass: &PassSlots<'_>, factor: f32, text: Wgsl) -> Dispatch {
    let size = pass.writes[0].size;
    let map = map(size);
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        map_width: map.width as u32,
        map_height: map.height as u32,
        factor,
    };
    let source = Wgsl::default()
        .body(Params::WGSL)
        .body(storage(pass))
        .body(&pass.wgsl())
        .body(&text.text())
        .body(PIXELS);
    let dispatch = Dispatch::compute(source.text(), &params, tiles(size, 32, 8));
    own(kernel, pass, dispatch)
}

/// Four values of a slot that is read, with the functions of [`storage`].
fn value(pass: &PassSlots<'_>, slot: usize) -> String {
    match pass.reads[slot].element {
        Element::F16x4 => format!("vec4<f32>(unstored(read{slot}[i]))"),
        _ => format!("read{slot}[i]"),
    }
}

/// The functions for slots of which some may be in half precision.
fn storage(pass: &PassSlots<'_>) -> &'static str {
    let slots = || pass.reads.iter().chain(&pass.writes);
    let half = slots().any(|slot| slot.element == Element::F16x4);
    stored(if half { Element::F16x4 } else { Element::F32x4 })
}

/// How a shader reads the maps of weights, which are the last slots that it reads.
fn taken(text: Wgsl, pass: &PassSlots<'_>, radius: usize, first: usize) -> Wgsl {
    let mut code = Code::default();
    for k in 1..radius {
        code.block(format_args!("if k == {k}u"), |code| {
            code.say(format_args!("return {}", value(pass, first + k)));
        });
    }
    code.say(format_args!("return {}", value(pass, first)));
    text.statements("map_at(k: u32, i: u32) -> vec4<f32>", code)
        .constant("RADIUS", "u32", radius)
        .body(include_str!("taken.wgsl"))
}

/// The slot of trust, or that of places, as the weights of a layer are multiplied by them, and the plane of a frame there.
fn trust_need(of: BlendWeights, size: Size, radius: usize) -> Need {
    Need::planes(size, 2 * radius * trust_stride(of))
}

/// How many planes a frame has there. The last of places tells whether one was found.
fn trust_stride(of: BlendWeights) -> usize {
    match of {
        BlendWeights::Features => PLACE,
        BlendWeights::Light | BlendWeights::Results => 1,
    }
}

/// How a shader reads that slot, which is its read number `slot`.
fn trust_at(text: Wgsl, name: &str, of: BlendWeights, slot: usize) -> Wgsl {
    let stride = trust_stride(of);
    text.function(
        &format!("{name}(frame: u32, i: u32) -> f32"),
        format!(
            "read{slot}[({stride}u * frame + {}u) * p.width * p.height + i]",
            stride - 1
        ),
    )
}

/// A row of weights for frames before and after at each distance: the network's times what they are trusted.
struct Row<'a> {
    trust: Vec<&'a [f32]>,
    maps: Vec<[&'a [f32]; 2]>,
}

impl<'a> Row<'a> {
    /// Row `y` of trust, or of places, and of maps.
    fn new(trust: &View<'a>, maps: &[View<'a>], of: BlendWeights, y: usize) -> Self {
        let stride = trust_stride(of);
        let mut made = Self {
            trust: Vec::new(),
            maps: Vec::new(),
        };
        for (k, map) in maps.iter().enumerate() {
            for side in 0..2 {
                let plane = stride * (2 * k + side) + stride - 1;
                made.trust.push(trust.row(plane, y));
                let plane = 4 * (2 * of.index() + side) + 2 * (y % 2);
                made.maps.push([0, 1].map(|dx| map.row(plane + dx, y / 2)));
            }
        }
        made
    }

    /// The weight of a frame around.
    #[inline(always)]
    fn at(&self, frame: usize, x: usize) -> f32 {
        let v = -1.0 - self.maps[frame][x % 2][x / 2];
        // The logistic function, with exponents that are never positive.
        let power = fast_exp(-v.abs());
        let small = power / (1.0 + power);
        self.trust[frame][x] * if v > 0.0 { small } else { 1.0 - small }
    }
}
