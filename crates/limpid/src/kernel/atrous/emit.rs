//! The WGSL text of the filter.

use super::{Atrous, Shape, Source, Walk};
use crate::kernel::pack::unpacked;
use crate::kernel::{Dispatch, Site, WgslStruct};
use crate::params;
use crate::plan::{Element, Order};
use crate::{Error, Result, Size};
use std::fmt::Write;

params! {
    /// Parameters of the shaders. The stops are for base 2: times the square root of log2 e. Colour is scaled on the way in,
    /// so that all differences weigh alike, and back on the way out.
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

/// What the text depends on.
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
    /// Whether features are written too.
    pub(super) carries: bool,
}

pub(super) fn dispatch(kernel: &Atrous, site: &Site<'_>) -> Result<Dispatch> {
    let (payload, features) = (site.reads[0], site.reads.get(1));
    let dims = match kernel.guided {
        Some(_) => super::FEATURES,
        None => kernel.stops.features.len(),
    };
    let packed = features.is_some_and(|f| f.element == Element::U32x4);
    let text = Text {
        kernel,
        planes: payload.planes,
        vectors: dims.div_ceil(4),
        packed,
        half: payload.element == Element::F16x4,
        carries: site.writes.len() > 1,
    };
    if dims > 12 {
        return Err(Error::unsupported("à-trous: at most 12 planes of features"));
    }
    let size = payload.size;
    let tile = match kernel.walk {
        Walk::Permuted {
            taps: Source::Tile(shape),
            ..
        } => Some(tile(&text, shape, site)?),
        _ => None,
    };
    let shape = tile.unwrap_or(PLAIN);
    let (groups, tiles) = groups(kernel, size, shape);
    let params = params(kernel, size, tiles);
    let mut source = text.head(shape);
    match tile {
        Some(shape) => source.push_str(&super::tile::body(&text, shape)),
        None => {
            source.push_str(match kernel.guided {
                Some(_) => super::guided::GLOBAL,
                None => "fn guide(part: Part, at: vec2<u32>, a: ptr<function, Pixel>) {}\n",
            });
            source.push_str(include_str!("global.wgsl"));
        }
    }
    Ok(Dispatch::own(source, &params, groups))
}

/// The tile to use on a device.
fn tile(text: &Text<'_>, wanted: Option<Shape>, site: &Site<'_>) -> Result<Shape> {
    let (radius, bytes) = (text.kernel.radius() as u32, text.bytes_per_pixel());
    wanted
        .filter(|shape| shape.fits(&site.target, radius, bytes))
        .or_else(|| {
            let pixels = site.reads[0].size.pixels();
            Shape::best(&site.target, radius, bytes, pixels)
        })
        .ok_or_else(|| {
            Error::unsupported(format!(
                "a tile with radius {radius} and {bytes} bytes per pixel does not fit the workgroup memory of {} bytes; \
                 use a schedule with global",
                site.target.workgroup_bytes
            ))
        })
}

/// Workgroups, and tiles of the largest sub-image.
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

/// `e -= d²` for the first channels of a difference, but for one; one fused operation each.
fn chain(s: &mut String, d: &str, lanes: usize, but: Option<usize>) {
    for (k, lane) in ["x", "y", "z", "w"].into_iter().take(lanes).enumerate() {
        if but == Some(k) {
            continue;
        }
        let _ = writeln!(s, "    e = fma(-{d}.{lane}, {d}.{lane}, e);");
    }
}

impl Text<'_> {
    /// Bytes that a pixel takes in workgroup memory.
    pub(super) fn bytes_per_pixel(&self) -> u32 {
        let guided = u32::from(self.kernel.guided.is_some());
        16 * (1 + self.tiled() as u32) + 4 * (guided + u32::from(self.objects()))
    }

    /// Whether objects weigh.
    pub(super) fn objects(&self) -> bool {
        self.kernel.guided.is_some_and(|g| g.objects)
    }

    /// An element of the payload.
    pub(super) fn element(&self) -> &'static str {
        if self.half { "vec2<u32>" } else { "vec4<f32>" }
    }

    /// Vectors of features that are kept in a tile with four numbers each: the gradient of depth and the object have places of
    /// their own.
    pub(super) fn tiled(&self) -> usize {
        match self.kernel.guided {
            Some(_) => 1,
            None => self.vectors,
        }
    }

    /// Whether anything but the kernel weighs.
    pub(super) fn weighs(&self) -> bool {
        let stops = &self.kernel.stops;
        self.vectors > 0 || stops.color.is_some() || stops.local.is_some()
    }

    /// Everything before the entry point.
    pub(super) fn head(&self, shape: Shape) -> String {
        let kernel = self.kernel;
        let (local, mirror, restore) = match kernel.walk {
            Walk::Dilated => (false, true, true),
            Walk::Permuted { from, to, .. } => {
                (from.order == Order::Local, from.mirror, to.is_none())
            }
        };
        let dilated = kernel.walk == Walk::Dilated;
        let mut s = String::from(Params::WGSL);
        let spacing = if dilated { "1i << p.level" } else { "1i" };
        // In rows there is one sub-image, the image, and pixels stay where they are.
        let _ = writeln!(
            s,
            "const R: i32 = {};\nconst GRID: i32 = {};\nconst WIDTH: u32 = {};\nconst HEIGHT: u32 = {};\n\
             const LOCAL: bool = {local};\nconst MIRROR: bool = {mirror};\nconst RESTORE: bool = {restore};\n\
             const STAYS: bool = {dilated};\nfn spacing() -> i32 {{\n    return {spacing};\n}}",
            kernel.radius(),
            kernel.grid,
            shape.width,
            shape.height / shape.rows,
        );
        self.bindings(&mut s);
        self.taps(&mut s);
        self.pixel(&mut s);
        self.sums(&mut s);
        s.push_str(include_str!("phases.wgsl"));
        s.push_str(include_str!("site.wgsl"));
        s
    }

    fn bindings(&self, s: &mut String) {
        let element = self.element();
        let feature = if self.packed {
            "vec4<u32>"
        } else {
            "vec4<f32>"
        };
        let mut next = 1;
        let mut bind = |name: &str, access: &str, kind: &str| {
            let _ = writeln!(
                s,
                "@group(0) @binding({next}) var<storage, {access}> {name}: array<{kind}>;"
            );
            next += 1;
        };
        bind("src", "read", element);
        if self.vectors > 0 {
            bind("features", "read", feature);
        }
        if self.kernel.mode.factors() {
            bind("factors", "read", "f32");
        }
        let made = if self.kernel.mode.balances() {
            "f32"
        } else {
            element
        };
        bind("dst", "read_write", made);
        if self.carries {
            bind("features_dst", "read_write", feature);
        }
    }

    /// `log2 h`.
    fn taps(&self, s: &mut String) {
        let r = self.kernel.radius() as i32;
        s.push_str("fn log_tap(i: i32) -> f32 {\n    switch i {\n");
        for (h, i) in self.kernel.taps.iter().zip(-r..=r) {
            let _ = writeln!(s, "        case {i} {{ return {:?}; }}", h.log2());
        }
        s.push_str("        default { return 0.0; }\n    }\n}\n");
    }

    /// A pixel with its scaled features, and what its difference to another weighs.
    fn pixel(&self, s: &mut String) {
        let vectors = 0..self.vectors;
        s.push_str("struct Pixel {\n    c: vec4<f32>,\n");
        for v in vectors.clone() {
            let _ = writeln!(s, "    f{v}: vec4<f32>,");
        }
        if self.kernel.guided.is_some() {
            s.push_str("    stop: f32,\n");
        }
        s.push_str("}\n");
        let unstored = if self.half {
            "vec4(unpack2x16float(v.x), unpack2x16float(v.y))"
        } else {
            "v"
        };
        let _ = writeln!(
            s,
            "fn unstored(v: {}) -> vec4<f32> {{\n    return {unstored};\n}}
fn load(i: u32) -> vec4<f32> {{\n    return unstored(src[i]);\n}}",
            self.element()
        );
        if self.vectors > 0 {
            self.features(s);
        }
        let carry = if self.carries {
            "    carry(features_at(here), to);\n"
        } else {
            ""
        };
        let _ = writeln!(s, "fn carry_from(here: u32, to: u32) {{\n{carry}}}");
        let (features, given) = match self.vectors {
            0 => ("", ""),
            _ => (", features_at(i)", ", f: Features"),
        };
        let _ = writeln!(
            s,
            "fn fetch(i: u32) -> Pixel {{\n    return pixel_of(load(i){features});\n}}
fn pixel_of(c: vec4<f32>{given}) -> Pixel {{
    var a: Pixel;
    a.c = c * vec4(p.color, p.color, p.color, 1.0);"
        );
        if let Some(guided) = &self.kernel.guided {
            s.push_str(
                "    let turn = vec3(sixteen(f.v0.x), sixteen(f.v0.x >> 16u), sixteen(f.v0.y));
    a.f0 = vec4(turn, bitcast<f32>(f.v0.w));
    let gradient = vec2(unpack2x16float(f.v0.y).y, unpack2x16float(f.v0.z).x);
    a.f1 = vec4(gradient, f32(f.v0.z >> 16u), 0.0);
    a.c = lit(c);
    return a;
}
",
            );
            s.push_str(&super::guided::wgsl(guided, self.kernel.colors));
            return;
        }
        for v in vectors.clone() {
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
            let _ = writeln!(s, "    a.f{v} = {value} * vec4({scale});");
        }
        s.push_str(
            "    return a;\n}\nfn exponent(a: Pixel, b: Pixel, h: f32, _d: vec2<f32>) -> f32 {\n    var e = h;\n",
        );
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
            let _ = writeln!(
                s,
                "    let off = {own};\n    e = fma(-off * off, 1.0 / fma(p.square, {noise}, p.least), e);"
            );
        } else if self.kernel.stops.color.is_some() {
            s.push_str("    let dc = a.c.xyz - b.c.xyz;\n");
            chain(s, "dc", 3, None);
        }
        for v in vectors {
            let _ = writeln!(s, "    let d{v} = a.f{v} - b.f{v};");
            let lanes = self.kernel.stops.features.len() - 4 * v;
            let apart = self.kernel.stops.local.and_then(|l| l.plane);
            chain(
                s,
                &format!("d{v}"),
                lanes.min(4),
                apart.filter(|p| p / 4 == v).map(|p| p % 4),
            );
        }
        s.push_str("    return e;\n}\n");
    }

    /// Features in their stored form: read once and passed on.
    fn features(&self, s: &mut String) {
        let planes = 0..if self.packed { 1 } else { self.vectors };
        let kind = if self.packed { "u32" } else { "f32" };
        let at = |v: usize, i: &str| format!("[{v}u * p.width * p.height + {i}]");
        s.push_str("struct Features {\n");
        for v in planes.clone() {
            let _ = writeln!(s, "    v{v}: vec4<{kind}>,");
        }
        s.push_str("}\nfn features_at(i: u32) -> Features {\n    var f: Features;\n");
        for v in planes.clone() {
            let _ = writeln!(s, "    f.v{v} = features{};", at(v, "i"));
        }
        s.push_str("    return f;\n}\n");
        if self.carries {
            s.push_str("fn carry(f: Features, to: u32) {\n");
            for v in planes {
                let _ = writeln!(s, "    features_dst{} = f.v{v};", at(v, "to"));
            }
            s.push_str("}\n");
        }
    }

    /// Sums of weights and of the payload, and what becomes of them.
    fn sums(&self, s: &mut String) {
        s.push_str("struct Sums {\n    w: f32,\n    c0: vec4<f32>,\n");
        for plane in 1..self.planes {
            let _ = writeln!(s, "    c{plane}: vec4<f32>,");
        }
        s.push_str("}\n");
        let factor = if self.kernel.squared.is_some() {
            "vec4(w, w, w, w * w)"
        } else {
            "w"
        };
        let _ = writeln!(
            s,
            "fn add(s: ptr<function, Sums>, tap: Pixel, there: u32, w: f32) {{\n    (*s).w += w;\n    (*s).c0 += {factor} * tap.c;"
        );
        let others = |s: &mut String| {
            for plane in 1..self.planes {
                let _ = writeln!(
                    s,
                    "    (*s).c{plane} += w * load({plane}u * p.width * p.height + there);"
                );
            }
            s.push_str("}\n");
        };
        others(s);
        s.push_str(
            "fn add_near(s: ptr<function, Sums>, tap: Pixel, there: u32, w: f32) {\n    (*s).w += w;\n    (*s).c0 += w * tap.c;\n",
        );
        others(s);
        let factor = match self.kernel.mode.factors() {
            true => "factors[i]",
            false => "1.0",
        };
        let _ = writeln!(s, "fn factor(i: u32) -> f32 {{\n    return {factor};\n}}");
        self.finish(s);
    }

    fn finish(&self, s: &mut String) {
        s.push_str("fn finish(to: u32, here: u32, sums: Sums, near: Sums) {\n");
        if self.kernel.mode.balances() {
            s.push_str("    dst[to] = sqrt(factor(here) / sums.w);\n}\n");
            return;
        }
        s.push_str("    let norm = 1.0 / sums.w;\n");
        let back = |plane: usize| match plane {
            0 => " * vec4(p.uncolor, p.uncolor, p.uncolor, 1.0)",
            _ => "",
        };
        for plane in 0..self.planes {
            let squared = plane == 0 && self.kernel.squared.is_some();
            let norm = if squared {
                "vec4(norm, norm, norm, norm * norm)"
            } else {
                "norm"
            };
            let back = back(plane);
            let _ = writeln!(s, "    var v{plane} = sums.c{plane} * {norm}{back};");
            if self.kernel.grid > 1 {
                let _ = writeln!(
                    s,
                    "    if sums.w <= 1e-30 {{\n        if near.w > 0.0 {{ v{plane} = near.c{plane} / near.w{back}; }} \
                     else {{ v{plane} = load({plane}u * p.width * p.height + here); }}\n    }}"
                );
            }
            if self.kernel.guided.is_some() && plane == 0 {
                let _ = writeln!(s, "    v{plane} = unlit(v{plane});");
            }
            let value = if self.half {
                let v = format!("clamp(v{plane}, vec4(-65504.0), vec4(65504.0))");
                format!("vec2(pack2x16float({v}.xy), pack2x16float({v}.zw))")
            } else {
                format!("v{plane}")
            };
            let _ = writeln!(s, "    dst[{plane}u * p.width * p.height + to] = {value};");
        }
        s.push_str("}\n");
    }
}
