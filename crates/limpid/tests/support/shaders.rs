//! Shaders without a GPU.

use crate::{known, support};
use limpid::kernel::{Dispatch, Target};
use limpid::method::{Backend, Entry, Method};
use limpid::plan::{Element, Pass, Plan};
use limpid::{Result, Size};
use std::collections::{BTreeMap, HashSet};

/// Devices that shaders differ for: what every device has, and a large one.
fn targets() -> [Target; 2] {
    let large = Target::with(|target| {
        target.invocations = 1024;
        target.workgroup_bytes = 48 << 10;
        target.binding_bytes = 2 << 30;
        target.storage_buffers = 64;
        target.texture_side = 16_384;
        target.subgroup = Some((32, 32));
        target.f16 = true;
        target.matrices = Some(32);
        target.filter_f32 = true;
    });
    [Target::BASE, large]
}

/// Name and shader of each pass. Its slots meet what the kernels of this library need, so that shaders run without checks.
fn shaders(plan: &Plan, target: Target) -> Result<Vec<(&'static str, Dispatch)>> {
    let shader = |pass: &Pass| {
        let (name, slots) = (pass.name(), pass.slots(plan, target));
        let dispatch = pass.kernel().gpu(&slots)?;
        let trusted = dispatch.is_trusted_on(&slots);
        assert!(trusted, "{}: {name} runs with checks", plan.title());
        Ok((name, dispatch))
    };
    plan.passes().iter().map(shader).collect()
}

fn validate(name: &str, text: &str) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|e| panic!("{name}: {}\n{text}", e.emit_to_string(text)));
    let flags = naga::valid::ValidationFlags::all();
    // Devices have more, but none of it is wanted.
    let capabilities = naga::valid::Capabilities::SHADER_FLOAT16
        | naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | naga::valid::Capabilities::COOPERATIVE_MATRIX
        | naga::valid::Capabilities::SUBGROUP
        | naga::valid::Capabilities::SUBGROUP_BARRIER;
    let mut validator = naga::valid::Validator::new(flags, capabilities);
    validator
        .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
        .subgroup_operations(naga::valid::SubgroupOperationSet::all());
    if let Err(e) = validator.validate(&module) {
        panic!("{name}: {}\n{text}", e.emit_to_string(text));
    }
}

/// The plans of all GPU schedules of a method on frames of this size.
fn plans(method: &dyn Method, size: Size) -> Vec<Plan> {
    let shape = support::frame(size).shape();
    let schedules = method.schedules(Backend::Gpu);
    let plan = |s| {
        method
            .plan(&shape, s)
            .unwrap_or_else(|e| panic!("{}: {e}", method.name()))
    };
    schedules.iter().map(plan).collect()
}

/// Validates the shaders of every setting and schedule; how many there are.
pub(crate) fn validated<'a>(methods: impl IntoIterator<Item = &'a Entry>) -> usize {
    let mut seen = HashSet::new();
    for entry in methods {
        for example in known::examples((entry.make)().as_ref()) {
            // Sizes that choose other shaders: one pixel, and one of many tiles.
            for size in [Size::new(1, 1), Size::new(83, 50)] {
                let method = example.prepared(&support::frame(size)).unwrap();
                for plan in plans(method.as_ref(), size) {
                    let textures = plan.clone().on_textures(Element::F32x4);
                    for (plan, target) in [(&plan, 0), (&plan, 1), (&textures, 1)] {
                        // A device may be too small for a schedule, and says so.
                        let Ok(all) = shaders(plan, targets()[target]) else {
                            continue;
                        };
                        for (name, dispatch) in all {
                            let text = dispatch.text();
                            if !seen.contains(&text) {
                                validate(&format!("{} {name}", plan.title()), &text);
                                seen.insert(text);
                            }
                        }
                    }
                }
            }
        }
    }
    seen.len()
}

/// Texts of a kernel that are kept in full: a transform has a hundred that differ little. Of the others a hash is kept.
const IN_FULL: usize = 3;

/// The texts of every setting, schedule and device: for each kernel name, each text once, those of default settings first.
pub(crate) fn texts<'a>(
    methods: impl IntoIterator<Item = &'a Entry> + Clone,
) -> Vec<(&'static str, String)> {
    let mut texts: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let size = Size::new(83, 50);
    let defaults = methods
        .clone()
        .into_iter()
        .map(|entry| vec![(entry.make)()]);
    let examples = methods
        .into_iter()
        .map(|entry| known::examples((entry.make)().as_ref()));
    let all: Vec<_> = defaults.chain(examples).flatten().collect();
    for method in all {
        let method = method.prepared(&support::frame(size)).unwrap();
        for (plan, target) in plans(method.as_ref(), size)
            .iter()
            .flat_map(|plan| targets().map(|target| (plan, target)))
        {
            // A device may be too small for a schedule, and says so.
            for (name, dispatch) in shaders(plan, target).unwrap_or_default() {
                let known = texts.entry(name).or_default();
                let text = dispatch.text();
                if !known.contains(&text) {
                    known.push(text);
                }
            }
        }
    }
    let join = |mut texts: Vec<String>| {
        let mut others = texts.split_off(texts.len().min(IN_FULL));
        others.sort();
        if !others.is_empty() {
            let hashes = others
                .iter()
                .map(|text| format!("// {:016x}\n", hash(text)));
            texts.push(hashes.collect());
        }
        texts.join("\n// ———\n\n")
    };
    texts.into_iter().map(|(n, t)| (n, join(t))).collect()
}

/// FNV-1a, the same on every machine.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
