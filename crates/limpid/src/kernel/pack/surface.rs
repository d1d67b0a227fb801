//! The surface of pixels, packed for filters that go by local noise.

use super::emit::each;
use crate::kernel::wgsl::Code;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use crate::plan::Element;
use crate::simd::dispatch;
use crate::{Result, definition::front};
use fearless_simd::Simd;

/// Gathers what tells surfaces apart: albedo, depth and class in one number, normal, brightness; and position. See
/// `definition::front::packed`. On a GPU 16 bytes without position: albedo and normal with 10 bits a channel, the others in full.
///
/// Reads: the features of the front, if there are any, classes, brightness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackSurface {
    /// Whether there is albedo.
    pub(crate) albedo: bool,
    /// Whether there are normals.
    pub(crate) normal: bool,
    /// Whether there is depth.
    pub(crate) depth: bool,
    /// Whether there is position.
    pub(crate) position: bool,
}

impl PackSurface {
    /// The planes of the features in which albedo, normal, depth and position begin.
    fn places(self) -> [Option<usize>; 4] {
        let mut next = 0;
        let there = [self.albedo, self.normal, self.depth, self.position];
        let mut places = [None; 4];
        for (place, (there, planes)) in places.iter_mut().zip(there.into_iter().zip([3, 3, 1, 3])) {
            if there {
                *place = Some(next);
                next += planes;
            }
        }
        places
    }

    fn has_features(self) -> bool {
        self.albedo || self.normal || self.depth || self.position
    }
}

impl Kernel for PackSurface {
    fn name(&self) -> &'static str {
        "pack-surface"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2 + usize::from(self.has_features()), 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => self.rows(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        self.dispatch(site)
    }
}

impl PackSurface {
    #[inline(always)]
    fn rows<S: Simd>(self, _simd: S, job: &mut Job<'_>) {
        let [albedo, normal, depth, position] = self.places();
        let at = job.reads.len() - 2;
        for y in job.rows.clone() {
            let features =
                |first: Option<usize>, k: usize| first.map(|first| job.reads[0].row(first + k, y));
            let to = &mut job.writes[0];
            for (start, first, steps) in [
                (front::ALBEDO, albedo, front::ALBEDO_STEPS),
                (front::NORMAL, normal, front::NORMAL_STEPS),
            ] {
                for k in 0..3 {
                    let to = to.row(start + k, y);
                    match features(first, k) {
                        Some(from) => {
                            for (to, v) in to.iter_mut().zip(from) {
                                *to = front::rounded(*v, steps);
                            }
                        }
                        None => to.fill(0.0),
                    }
                }
            }
            let class = job.reads[at].row(0, y);
            let deep = to.row(front::DEPTH, y);
            match features(depth, 0) {
                Some(from) => {
                    for ((to, v), class) in deep.iter_mut().zip(from).zip(class) {
                        *to = v + front::APART * class;
                    }
                }
                None => {
                    for (to, class) in deep.iter_mut().zip(class) {
                        *to = front::APART * class;
                    }
                }
            }
            to.row(front::GUIDE, y)
                .copy_from_slice(job.reads[at + 1].row(0, y));
            for k in 0..3 {
                if let Some(from) = features(position, k) {
                    to.row(front::POSITION + k, y).copy_from_slice(from);
                }
            }
        }
    }

    fn dispatch(self, site: &Site<'_>) -> Result<Dispatch> {
        let [albedo, normal, depth, position] = self.places();
        let three = |first: Option<usize>| match first {
            Some(first) => {
                let at = |k: usize| format!("features[{}u * p.count + i]", first + k);
                format!("vec3({}, {}, {})", at(0), at(1), at(2))
            }
            None => "vec3(0.0)".to_owned(),
        };
        let depth = match depth {
            Some(plane) => format!("features[{plane}u * p.count + i] + "),
            None => String::new(),
        };
        let (a, n, apart) = (front::ALBEDO_STEPS, front::NORMAL_STEPS, front::APART);
        let (albedo, normal, position) = (three(albedo), three(normal), three(position));
        let mut body = Code::default();
        body.say(format_args!("let albedo = floor({albedo} * {a:?} + 0.5)"))
            .say(format_args!("let normal = floor({normal} * {n:?} + 0.5)"))
            .say(format_args!("let deep = {depth}{apart:?} * classes[i]"));
        match site.writes[0].element {
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
        let mut names = vec!["classes", "guide", "slot"];
        if self.has_features() {
            names.insert(0, "features");
        }
        Ok(each(site, &names, body))
    }
}

/// WGSL: the vectors of [`PackSurface`] from its 16 bytes `v`.
pub(crate) fn unpacked(v: &str) -> [String; 2] {
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
