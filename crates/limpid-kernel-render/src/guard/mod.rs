//! The firefly guard: dims pixels far brighter than all around them.
//!
//! A pixel whose luminance is above the mean of its 5×5 window plus four standard deviations, both excluding itself, is scaled
//! down to that limit. All layers that belong to the colour are scaled by the same factor, so that parts still add up.

mod cpu;

use crate::own::own;
use limpid_core::{LUMINANCE, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::{Code, PIXELS, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_plan::{Element, Slot};

/// The firefly guard on a packed slot whose first channels are colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Channels of colour: 1 or 3.
    pub colors: usize,
    /// For each plane on the CPU, and each channel on the GPU, the power of its scale factor: 1 for light, 2 for variance, 0
    /// for unscaled values.
    pub powers: Powers,
    /// Whether values are rounded to half precision.
    pub half: bool,
}

/// Powers of the factor, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Powers {
    /// For each plane on the CPU.
    pub planes: Vec<u8>,
    /// For each plane of four channels on the GPU.
    pub vectors: Vec<[u8; 4]>,
}

/// Standard deviations above the mean that are accepted.
pub const DEVIATIONS: f32 = 4.0;

/// Pixels to each side of the window.
const RADIUS: usize = 2;

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32 }
}

impl Guard {
    fn weights(&self) -> [f32; 3] {
        if self.colors == 3 {
            LUMINANCE
        } else {
            [1.0, 0.0, 0.0]
        }
    }
}

impl Guard {
    /// The shader, given the expression for the light of pixel `i` and the code that multiplies all its values by `f`.
    fn dispatch(&self, slot: &Slot, light: &str, scale: Code) -> Dispatch {
        let kind = slot.element.wgsl();
        let source = Wgsl::default()
            .body(Params::WGSL)
            .reads(1, "src", kind)
            .writes(2, "dst", kind)
            .constant("R", "i32", RADIUS)
            .constant("DEVIATIONS", "f32", format_args!("{DEVIATIONS:?}"))
            .body(match slot.element {
                Element::F32 => "",
                Element::F16x4 => include_str!("half.wgsl"),
                _ => include_str!("full.wgsl"),
            })
            .function("light(i: u32) -> f32", light)
            .statements("scale_all(i: u32, f: f32)", scale)
            .body(include_str!("gpu.wgsl"))
            .body(PIXELS);
        let params = Params {
            width: slot.size.width as u32,
            height: slot.size.height as u32,
        };
        Dispatch::compute(source.text(), &params, tiles(slot.size, 32, 8))
    }

    /// The shader for a planar slot.
    fn planar(&self, slot: &Slot) -> Dispatch {
        let at = |plane: usize| format!("src[{plane}u * p.width * p.height + i]");
        let light = (0..self.colors).map(|k| format!("{:?} * {}", self.weights()[k], at(k)));
        let light: Vec<String> = light.collect();
        let mut scale = Code::default();
        for (plane, power) in self.powers.planes.iter().enumerate() {
            let to = format!("dst[{plane}u * p.width * p.height + i]");
            scale.say(format_args!("{to} = {} * {}", at(plane), factor(*power)));
        }
        self.dispatch(slot, &light.join(" + "), scale)
    }
}

/// The factor `f` to this power, at most the second.
fn factor(power: u8) -> &'static str {
    ["1.0", "f", "f * f"][usize::from(power.min(2))]
}

impl Kernel for Guard {
    fn name(&self) -> &'static str {
        "guard"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, RADIUS)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        let planes = match slot.element {
            Element::F32 => self.powers.planes.len().max(self.colors),
            _ => self.powers.vectors.len().max(1),
        };
        [Need::planes(slot.size, planes).of(slot.element); 2].to_vec()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let slot = pass.reads[0];
        if slot.element == Element::F32 {
            return Ok(own(self, pass, self.planar(slot)));
        }
        let [r, g, b] = self.weights();
        let light = format!("dot(load(i).xyz, vec3({r:?}, {g:?}, {b:?}))");
        let mut scale = Code::default();
        for (v, powers) in self.powers.vectors.iter().enumerate() {
            let at = format!("{v}u * p.width * p.height + i");
            let factors = powers.map(factor).join(", ");
            scale.say(format_args!("store({at}, load({at}) * vec4({factors}))"));
        }
        Ok(own(self, pass, self.dispatch(slot, &light, scale)))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }
}
