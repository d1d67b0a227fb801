//! Generates the WGSL of the filter.

use super::{Atrous, Shape, Source, Walk};
use crate::pack::unpacked;
use limpid_core::{Error, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Dispatch, PassSlots, WgslStruct};
use limpid_plan::{Element, Order};

params! {
    /// Parameters of the shaders. The stops are for base 2: they include the square root of log2 e. Colour is scaled on load,
    /// so that all differences have equal weight, and unscaled on store.
    pub(super) struct Params {
        width: u32, height: u32, tiles_x: u32, tiles_y: u32,
        level: u32, splits: u32, color: f32, uncolor: f32,
        s0: f32, s1: f32, s2: f32, s3: f32,
        s4: f32, s5: f32, s6: f32, s7: f32,
        s8: f32, s9: f32, s10: f32, s11: f32,
        square: f32, least: f32, unused0: f32, unused1: f32,
    }
}

/// Workgroup of the shaders without a tile.
const PLAIN: Shape = Shape::new(32, 8, 1);

/// The properties that the text depends on.
pub(super) struct Text<'a> {
    pub(super) kernel: &'a Atrous,
    /// Planes of the payload.
    pub(super) planes: usize,
    /// Vectors of four features once unpacked.
    pub(super) vectors: usize,
    /// Whether features are packed.
    pub(super) packed: bool,
    /// Whether the payload is in half floats.
    pub(super) half: bool,
    /// Whether features are also written.
    pub(super) carries: bool,
}

pub(super) fn dispatch(kernel: &Atrous, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let (payload, features) = (pass.reads[0], pass.reads.get(1));
    let dims = kernel.features();
    let packed = features.is_some_and(|f| f.element == Element::U32x4);
    let text = Text {
        kernel,
        planes: payload.planes,
        vectors: dims.div_ceil(4),
        packed,
        half: payload.element == Element::F16x4,
        carries: pass.writes.len() > 1,
    };
    if !kernel.is_sound() {
        return Err(Error::unsupported(
            "à-trous: a level whose order is another's",
        ));
    }
    if dims > 12 {
        return Err(Error::unsupported("à-trous: at most 12 planes of features"));
    }
    let size = payload.size;
    let tile = match kernel.walk {
        Walk::Permuted {
            taps: Source::Tile(shape),
            ..
        } => Some(tile(&text, shape, pass)?),
        _ => None,
    };
    let shape = tile.unwrap_or(PLAIN);
    let (groups, tiles) = groups(kernel, size, shape);
    let params = params(kernel, size, tiles);
    let head = text.head(shape);
    let source = match tile {
        Some(shape) => super::tile::body(&text, shape, head),
        None => head
            .body(match kernel.guided {
                Some(_) => include_str!("guided/global.wgsl"),
                None => include_str!("unguided.wgsl"),
            })
            .body(include_str!("global.wgsl")),
    };
    Ok(Dispatch::compute(source.text(), &params, groups))
}

/// The tile to use on a device.
fn tile(text: &Text<'_>, wanted: Option<Shape>, pass: &PassSlots<'_>) -> Result<Shape> {
    let (radius, bytes) = (text.kernel.radius() as u32, text.bytes_per_pixel());
    wanted
        .filter(|shape| shape.fits(&pass.target, radius, bytes))
        .or_else(|| {
            let pixels = pass.reads[0].size.pixels();
            Shape::best(&pass.target, radius, bytes, pixels)
        })
        .ok_or_else(|| {
            Error::unsupported(format!(
                "a tile with radius {radius} and {bytes} bytes per pixel does not fit the workgroup memory of {} bytes; \
                 use a schedule with global",
                pass.target.workgroup_bytes
            ))
        })
}

/// Number of workgroups, and of tiles in the largest sub-image.
pub(super) fn groups(kernel: &Atrous, size: Size, shape: Shape) -> ([u32; 3], [u32; 2]) {
    let parts = match kernel.walk {
        Walk::Permuted { from, .. } if !from.mirror => 1 << from.level,
        _ => 1,
    };
    let tiles = |n: usize, side: u32| (n as u32).div_ceil(parts).div_ceil(side);
    let (x, y) = (
        tiles(size.width, shape.width),
        tiles(size.height, shape.height * shape.steps),
    );
    ([x * parts, y * parts, 1], [x, y])
}

pub(super) fn params(kernel: &Atrous, size: Size, tiles: [u32; 2]) -> Params {
    let base2 = std::f32::consts::LOG2_E.sqrt();
    let color = match kernel.stops.local {
        Some(_) => base2,
        None => kernel.stops.color.map_or(1.0, |s| s * base2),
    };
    let s = |i: usize| kernel.stops.features.get(i).map_or(0.0, |s| s * base2);
    Params {
        width: size.width as u32,
        height: size.height as u32,
        tiles_x: tiles[0],
        tiles_y: tiles[1],
        level: kernel.level,
        splits: 1,
        color,
        uncolor: 1.0 / color,
        s0: s(0),
        s1: s(1),
        s2: s(2),
        s3: s(3),
        s4: s(4),
        s5: s(5),
        s6: s(6),
        s7: s(7),
        s8: s(8),
        s9: s(9),
        s10: s(10),
        s11: s(11),
        square: kernel.stops.local.map_or(0.0, |l| l.square),
        least: kernel.stops.local.map_or(1.0, |l| l.least),
        unused0: 0.0,
        unused1: 0.0,
    }
}

/// Emits `e -= d²` for the first channels of a difference, except `but`; one fused operation each.
fn chain(code: &mut Code, d: &str, lanes: usize, but: Option<usize>) {
    for (k, lane) in ["x", "y", "z", "w"].into_iter().take(lanes).enumerate() {
        if but != Some(k) {
            code.say(format_args!("e = fma(-{d}.{lane}, {d}.{lane}, e)"));
        }
    }
}

impl Text<'_> {
    /// Bytes per pixel in workgroup memory.
    pub(super) fn bytes_per_pixel(&self) -> u32 {
        let guided = u32::from(self.kernel.guided.is_some());
        16 * (1 + self.tiled() as u32) + 4 * (guided + u32::from(self.objects()))
    }

    /// Whether object ids contribute to the weights.
    pub(super) fn objects(&self) -> bool {
        self.kernel.guided.is_some_and(|g| g.objects)
    }

    /// The type of a payload element.
    pub(super) fn element(&self) -> &'static str {
        if self.half { "vec2<u32>" } else { "vec4<f32>" }
    }

    /// Number of feature vectors that the tile holds as four values each: the gradient of depth and the object id are stored
    /// separately.
    pub(super) fn tiled(&self) -> usize {
        match self.kernel.guided {
            Some(_) => 1,
            None => self.vectors,
        }
    }

    /// Whether weights depend on anything besides the kernel.
    pub(super) fn weighs(&self) -> bool {
        let stops = &self.kernel.stops;
        self.vectors > 0 || stops.color.is_some() || stops.local.is_some()
    }

    /// Everything before the entry point.
    pub(super) fn head(&self, shape: Shape) -> Wgsl {
        let kernel = self.kernel;
        let (local, mirror, restore) = match kernel.walk {
            Walk::Dilated => (false, true, true),
            Walk::Permuted { from, to, .. } => {
                (from.order == Order::Local, from.mirror, to.is_none())
            }
        };
        let dilated = kernel.walk == Walk::Dilated;
        let spacing = if dilated { "1i << p.level" } else { "1i" };
        // In row order the image is the only sub-image, and pixels keep their positions.
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("R", "i32", kernel.radius())
            .constant("GRID", "i32", kernel.grid)
            .constant("WIDTH", "u32", shape.width)
            .constant("HEIGHT", "u32", shape.height / shape.rows)
            .constant("LOCAL", "bool", local)
            .constant("MIRROR", "bool", mirror)
            .constant("RESTORE", "bool", restore)
            .constant("STAYS", "bool", kernel.walk.stays())
            .function("spacing() -> i32", spacing)
            .statements("log_tap(i: i32) -> f32", self.taps());
        let text = self.sums(self.pixel(self.bindings(text)));
        text.body(include_str!("phases.wgsl"))
            .body(include_str!("positions.wgsl"))
    }

    fn bindings(&self, text: Wgsl) -> Wgsl {
        let element = self.element();
        let feature = match self.packed {
            true => "vec4<u32>",
            false => "vec4<f32>",
        };
        let mut reads = vec![("src", element)];
        if self.vectors > 0 {
            reads.push(("features", feature));
        }
        if self.kernel.mode.factors() {
            reads.push(("factors", "f32"));
        }
        let made = match self.kernel.mode.balances() {
            true => "f32",
            false => element,
        };
        let mut text = text;
        let next = 1 + reads.len();
        for (i, (name, kind)) in reads.into_iter().enumerate() {
            text = text.reads(i + 1, name, kind);
        }
        text = text.writes(next, "dst", made);
        match self.carries {
            true => text.writes(next + 1, "features_dst", feature),
            false => text,
        }
    }

    /// `log2 h`.
    fn taps(&self) -> Code {
        let r = self.kernel.radius() as i32;
        let mut code = Code::default();
        code.block("switch i", |code| {
            for (h, i) in self.kernel.taps.iter().zip(-r..=r) {
                code.lines(&format!("case {i} {{ return {:?}; }}", h.log2()));
            }
            code.lines("default { return 0.0; }");
        });
        code
    }

    /// A pixel with its scaled features, and the weight of the difference of two pixels.
    fn pixel(&self, text: Wgsl) -> Wgsl {
        let vector = |v: usize| (format!("f{v}"), "vec4<f32>");
        let mut fields = vec![("c".to_owned(), "vec4<f32>")];
        fields.extend((0..self.vectors).map(vector));
        if self.kernel.guided.is_some() {
            fields.push(("stop".to_owned(), "f32"));
        }
        let (unstored, stored) = match self.half {
            true => (
                "vec4(unpack2x16float(v.x), unpack2x16float(v.y))",
                include_str!("store_half.wgsl"),
            ),
            false => ("v", include_str!("store.wgsl")),
        };
        let (features, given) = match self.vectors {
            0 => ("", ""),
            _ => (", features_at(i)", ", f: Features"),
        };
        let mut carry = Code::default();
        if self.carries {
            carry.say("carry(features_at(here), to)");
        }
        let mut text = text
            .structure("Pixel", fields)
            .function(
                &format!("unstored(v: {}) -> vec4<f32>", self.element()),
                unstored,
            )
            .function("load(i: u32) -> vec4<f32>", "unstored(src[i])");
        if !self.kernel.mode.balances() {
            text = text.body(stored);
        }
        if self.vectors > 0 {
            text = self.features(text);
        }
        let text = text
            .statements("carry_from(here: u32, to: u32)", carry)
            .function(
                "fetch(i: u32) -> Pixel",
                format_args!("pixel_of(load(i){features})"),
            );
        match &self.kernel.guided {
            Some(guided) => super::guided::declared(text, guided, self.kernel.colors),
            None => text
                .statements(
                    &format!("pixel_of(c: vec4<f32>{given}) -> Pixel"),
                    self.pixel_of(),
                )
                .statements(
                    "exponent(a: Pixel, b: Pixel, h: f32, _d: vec2<f32>) -> f32",
                    self.exponent(),
                ),
        }
    }

    /// Converts a stored pixel; features are scaled so that all differences have equal weight.
    fn pixel_of(&self) -> Code {
        let mut code = Code::default();
        code.say("var a: Pixel")
            .say("a.c = c * vec4(p.color, p.color, p.color, 1.0)");
        for v in 0..self.vectors {
            let lane = |k: usize| format!("p.s{}", 4 * v + k);
            let scale = [0, 1, 2, 3].map(lane).join(", ");
            let value = match (self.packed, v) {
                (true, _) if self.kernel.stops.local.is_some() => unpacked("f.v0")[v].clone(),
                (false, _) => format!("f.v{v}"),
                (true, 0) => {
                    "vec4(unpack2x16float(f.v0.x), unpack2x16float(f.v0.y).x, bitcast<f32>(f.v0.w))"
                        .into()
                }
                (true, _) => "vec4(unpack2x16float(f.v0.y).y, unpack2x16float(f.v0.z), 0.0)".into(),
            };
            code.say(format_args!("a.f{v} = {value} * vec4({scale})"));
        }
        code.say("return a");
        code
    }

    /// The weight of the difference of two pixels, as an exponent of 2 added to `h`.
    fn exponent(&self) -> Code {
        let mut code = Code::default();
        code.say("var e = h");
        if let Some(local) = self.kernel.stops.local {
            let own = match (local.plane, self.kernel.colors) {
                (Some(plane), _) => {
                    let lane = ["x", "y", "z", "w"][plane % 4];
                    format!("a.f{0}.{lane} - b.f{0}.{lane}", plane / 4)
                }
                (None, 1) => "a.c.x - b.c.x".into(),
                (None, _) => "dot(a.c.xyz - b.c.xyz, vec3(0.33333334))".into(),
            };
            let noise = match local.symmetric {
                true => "0.5 * (a.c.w + b.c.w)",
                false => "a.c.w",
            };
            code.say(format_args!("let off = {own}")).say(format_args!(
                "e = fma(-off * off, 1.0 / fma(p.square, {noise}, p.least), e)"
            ));
        } else if self.kernel.stops.color.is_some() {
            code.say("let dc = a.c.xyz - b.c.xyz");
            chain(&mut code, "dc", 3, None);
        }
        for v in 0..self.vectors {
            code.say(format_args!("let d{v} = a.f{v} - b.f{v}"));
            let lanes = self.kernel.stops.features.len() - 4 * v;
            let apart = self.kernel.stops.local.and_then(|l| l.plane);
            let apart = apart.filter(|p| p / 4 == v).map(|p| p % 4);
            chain(&mut code, &format!("d{v}"), lanes.min(4), apart);
        }
        code.say("return e");
        code
    }

    /// Features in their stored form, which are read once and copied to the output.
    fn features(&self, text: Wgsl) -> Wgsl {
        let planes = 0..if self.packed { 1 } else { self.vectors };
        let kind = if self.packed {
            "vec4<u32>"
        } else {
            "vec4<f32>"
        };
        let (mut read, mut carry) = (Code::default(), Code::default());
        read.say("var f: Features");
        for v in planes.clone() {
            let plane = format!("{v}u * p.width * p.height");
            read.say(format_args!("f.v{v} = features[{plane} + i]"));
            carry.say(format_args!("features_dst[{plane} + to] = f.v{v}"));
        }
        read.say("return f");
        let text = text
            .structure("Features", planes.map(|v| (format!("v{v}"), kind)))
            .statements("features_at(i: u32) -> Features", read);
        match self.carries {
            true => text.statements("carry(f: Features, to: u32)", carry),
            false => text,
        }
    }

    /// Accumulates weights and payload, and computes the result from the sums.
    fn sums(&self, text: Wgsl) -> Wgsl {
        let plane = |k: usize| (format!("c{k}"), "vec4<f32>");
        let fields = [("w".to_owned(), "f32")].into_iter();
        let factor = match self.kernel.squared {
            Some(_) => "vec4(w, w, w, w * w)",
            None => "w",
        };
        let add = |factor: &str| {
            let mut code = Code::default();
            code.say("(*s).w += w")
                .say(format_args!("(*s).c0 += {factor} * tap.c"));
            for plane in 1..self.planes {
                code.say(format_args!(
                    "(*s).c{plane} += w * load({plane}u * p.width * p.height + there)"
                ));
            }
            code
        };
        let taken = "(s: ptr<function, Sums>, tap: Pixel, there: u32, w: f32)";
        let given = match self.kernel.mode.factors() {
            true => "factors[i]",
            false => "1.0",
        };
        text.structure("Sums", fields.chain((0..self.planes).map(plane)))
            .statements(&format!("add{taken}"), add(factor))
            .statements(&format!("add_near{taken}"), add("w"))
            .function("factor(i: u32) -> f32", given)
            .statements(
                "finish(to: u32, here: u32, sums: Sums, near: Sums)",
                self.finish(),
            )
    }

    fn finish(&self) -> Code {
        let mut code = Code::default();
        if self.kernel.mode.balances() {
            code.say("dst[to] = sqrt(factor(here) / sums.w)");
            return code;
        }
        code.say("let norm = 1.0 / sums.w");
        for plane in 0..self.planes {
            let norm = match self.kernel.squared {
                Some(_) if plane == 0 => "vec4(norm, norm, norm, norm * norm)",
                _ => "norm",
            };
            let back = match plane {
                0 => " * vec4(p.uncolor, p.uncolor, p.uncolor, 1.0)",
                _ => "",
            };
            let start = format!("{plane}u * p.width * p.height");
            code.say(format_args!("var v{plane} = sums.c{plane} * {norm}{back}"));
            if self.kernel.grid > 1 {
                code.block("if sums.w <= 1e-30", |code| {
                    code.say(format_args!("v{plane} = load({start} + here)"));
                    code.block("if near.w > 0.0", |code| {
                        code.say(format_args!("v{plane} = near.c{plane} / near.w{back}"));
                    });
                });
            }
            if self.kernel.guided.is_some() && plane == 0 {
                code.say("v0 = unlit(v0)");
            }
            code.say(format_args!("store({start} + to, v{plane})"));
        }
        code
    }
}
