//! The surface of pixels, packed for filters guided by local noise.

use super::emit::each;
use crate::own::own;
use fearless_simd::Simd;
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::Element;
use limpid_plan::wgsl::Code;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::front;

/// Gathers the features that distinguish surfaces: albedo, depth and class in one value, normal, brightness; and position. See
/// `definition::front::packed`. On a GPU 16 bytes without position: albedo and normal with 10 bits per channel, the others in
/// single precision.
///
/// Reads: albedo and normals, if present; depth with the class, and position if present, as written by the front end;
/// brightness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackSurface {
    /// Whether there is albedo.
    pub albedo: bool,
    /// Whether there are normals.
    pub normal: bool,
    /// Whether there is position.
    pub position: bool,
}

impl PackSurface {
    /// The slots of albedo and of normals.
    fn sharp(self) -> [Option<usize>; 2] {
        [
            self.albedo.then_some(0),
            self.normal.then_some(usize::from(self.albedo)),
        ]
    }
}

impl Kernel for PackSurface {
    fn name(&self) -> &'static str {
        "pack-surface"
    }

    fn contract(&self) -> Contract {
        let sharp = self.sharp().into_iter().flatten().count();
        Contract::rows(sharp + 2, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.writes[0];
        let planes = |count: usize| Need::planes(slot.size, count);
        let mut needs = vec![planes(3); self.sharp().into_iter().flatten().count()];
        needs.extend([planes(if self.position { 4 } else { 1 }), planes(1)]);
        needs.push(match slot.element {
            Element::F32 => Need::like(slot),
            Element::U32x4 => planes(1).of(Element::U32x4),
            _ => planes(3).of(Element::F32x4),
        });
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => self.rows(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, self.dispatch(pass)))
    }
}

impl PackSurface {
    #[inline(always)]
    fn rows<S: Simd>(self, _simd: S, job: &mut Job<'_>) {
        let [albedo, normal] = self.sharp();
        let [features, guide] = [2, 1].map(|k| job.reads.len() - k);
        for y in job.rows.clone() {
            let to = &mut job.writes[0];
            for (start, slot, least, steps) in [
                (front::ALBEDO, albedo, 0.0, front::ALBEDO_STEPS),
                (front::NORMAL, normal, -1.0, front::NORMAL_STEPS),
            ] {
                for k in 0..3 {
                    let to = to.row(start + k, y);
                    match slot {
                        Some(slot) => {
                            for (to, v) in to.iter_mut().zip(job.reads[slot].row(k, y)) {
                                *to = front::rounded(v.max(least).min(1.0), steps);
                            }
                        }
                        None => to.fill(0.0),
                    }
                }
            }
            let features = &job.reads[features];
            to.row(front::DEPTH, y).copy_from_slice(features.row(0, y));
            let guide = job.reads[guide].row(0, y);
            to.row(front::GUIDE, y).copy_from_slice(guide);
            for k in 0..if self.position { 3 } else { 0 } {
                let from = features.row(1 + k, y);
                to.row(front::POSITION + k, y).copy_from_slice(from);
            }
        }
    }

    fn dispatch(self, pass: &PassSlots<'_>) -> Dispatch {
        let three = |name: &str, first: usize, there: bool| match there {
            true => {
                let at = |k: usize| format!("{name}[{}u * p.count + i]", first + k);
                format!("vec3({}, {}, {})", at(0), at(1), at(2))
            }
            false => "vec3(0.0)".to_owned(),
        };
        let (a, n) = (front::ALBEDO_STEPS, front::NORMAL_STEPS);
        let albedo = three("albedos", 0, self.albedo);
        let normal = three("normals", 0, self.normal);
        let position = three("features", 1, self.position);
        let mut body = Code::default();
        body.say(format_args!(
            "let albedo = floor(clamp({albedo}, vec3(0.0), vec3(1.0)) * {a:?} + 0.5)"
        ))
        .say(format_args!(
            "let normal = floor(clamp({normal}, vec3(-1.0), vec3(1.0)) * {n:?} + 0.5)"
        ))
        .say("let deep = features[i]");
        match pass.writes[0].element {
            Element::U32x4 => {
                let ten = |v: &str| format!("{v}.x | ({v}.y << 10u) | ({v}.z << 20u)");
                let (a, n) = (ten("a"), ten("n"));
                body.say("let a = vec3<u32>(albedo)")
                    .say("let n = bitcast<vec3<u32>>(vec3<i32>(normal)) & vec3(1023u)")
                    .say(format_args!(
                        "slot[i] = vec4({a}, {n}, bitcast<u32>(deep), bitcast<u32>(guide[i]))"
                    ));
            }
            _ => {
                body.say(format_args!("slot[i] = vec4(albedo / {a:?}, deep)"))
                    .say(format_args!(
                        "slot[p.count + i] = vec4(normal / {n:?}, guide[i])"
                    ))
                    .say(format_args!(
                        "slot[2u * p.count + i] = vec4({position}, 0.0)"
                    ));
            }
        }
        let mut names = Vec::new();
        names.extend(self.albedo.then_some("albedos"));
        names.extend(self.normal.then_some("normals"));
        names.extend(["features", "guide", "slot"]);
        each(pass, &names, body)
    }
}

/// WGSL: the vectors of [`PackSurface`] from its 16 bytes `v`.
pub fn unpacked(v: &str) -> [String; 2] {
    let (a, n) = (front::ALBEDO_STEPS, front::NORMAL_STEPS);
    [
        format!(
            "vec4(vec3<f32>((vec3({v}.x) >> vec3(0u, 10u, 20u)) & vec3(1023u)) * {:?}, bitcast<f32>({v}.z))",
            1.0 / a
        ),
        format!(
            "vec4(vec3<f32>(bitcast<vec3<i32>>(vec3({v}.y) << vec3(22u, 12u, 2u)) >> vec3(22u)) * {:?}, bitcast<f32>({v}.w))",
            1.0 / n
        ),
    ]
}
