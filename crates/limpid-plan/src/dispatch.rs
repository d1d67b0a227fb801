//! The result of a GPU body: WGSL text, constants, parameters, grid.

use super::wgsl::Wgsl;
use crate::{Need, Slot};
use limpid_core::Size;

/// The properties of a GPU that kernels may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// Maximum number of invocations in a workgroup.
    pub invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Maximum number of workgroups along one axis of the grid.
    pub groups: u32,
    /// Largest storage buffer, in bytes.
    pub binding_bytes: u64,
    /// Maximum number of storage buffers that one shader binds.
    pub storage_buffers: u32,
    /// Longest side of a texture.
    pub texture_side: u32,
    /// Smallest and largest subgroup, if subgroup operations are available.
    pub subgroup: Option<(u32, u32)>,
    /// Whether shaders may compute with half floats.
    pub f16: bool,
    /// Size of its subgroups, if they multiply matrices of 16×16 half floats (`wgpu_cooperative_matrix`).
    pub matrices: Option<u32>,
    /// Whether textures of 32-bit floats can be sampled linearly.
    pub filter_f32: bool,
}

impl Target {
    /// The base with some changes.
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut made = Self::BASE;
        change(&mut made);
        made
    }

    /// The minimum of every WebGPU device.
    pub const BASE: Self = Self {
        invocations: 256,
        workgroup_bytes: 16 << 10,
        groups: 65_535,
        binding_bytes: 128 << 20,
        storage_buffers: 8,
        texture_side: 8192,
        subgroup: None,
        f16: false,
        matrices: None,
        filter_f32: false,
    };
}

/// What a kernel is applied to: the slots of a pass, and the device.
#[derive(Debug, Clone)]
pub struct PassSlots<'a> {
    /// The device.
    pub target: Target,
    /// Slots read, in the order of the contract.
    pub reads: Vec<&'a Slot>,
    /// Slots written, in the order of the contract.
    pub writes: Vec<&'a Slot>,
}

impl PassSlots<'_> {
    /// WGSL: the slots as `read0`, `read1`, … and `write0`, …, at the bindings that follow the parameters. Written slots are
    /// buffers.
    pub fn wgsl(&self) -> String {
        let named = |name: &str, n: usize| (0..n).map(|i| format!("{name}{i}")).collect();
        let mut names: Vec<String> = named("read", self.reads.len());
        names.extend::<Vec<_>>(named("write", self.writes.len()));
        Wgsl::default().slots(self, &names).text()
    }
}

/// How a shader runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A compute shader: `groups` workgroups.
    Compute {
        /// Workgroups along x, y, z.
        groups: [u32; 3],
    },
    /// A fragment shader drawn over the whole of the written slots, which are textures.
    Fragment,
}

/// A shader, ready to be built: WGSL text with its constants, parameters and grid.
///
/// Bindings follow one rule, all in group 0: binding 0 is the uniform `Params`, then the read slots, then the written
/// slots, in the order of the contract. A slot in a buffer is a storage array of its element; a slot in a texture is a
/// `texture_2d` when read and a `texture_storage_2d` when written by a compute shader. Fragment shaders write to
/// `@location(i)` instead. When `sampler` is set, a linear clamping sampler follows as the last binding.
#[derive(Debug, Clone)]
pub struct Dispatch {
    source: String,
    constants: Vec<(&'static str, f64)>,
    params: Vec<u8>,
    stage: Stage,
    sampler: bool,
    /// What the shader relies on, if it may run without runtime checks.
    trusted: Option<Trust>,
}

/// What a shader without runtime checks relies on.
#[derive(Debug, Clone)]
struct Trust {
    /// The device it was written for: sizes of subgroups decide which part of workgroup memory a thread uses.
    target: Target,
    needs: Vec<Need>,
}

impl Dispatch {
    /// A compute shader with entry point `main`.
    pub fn compute(
        source: impl Into<String>,
        params: &impl bytemuck::Pod,
        groups: [u32; 3],
    ) -> Self {
        Self {
            source: source.into(),
            constants: Vec::new(),
            params: bytemuck::bytes_of(params).to_vec(),
            stage: Stage::Compute { groups },
            sampler: false,
            trusted: None,
        }
    }

    /// A fragment shader with entry point `main`, drawn over the written textures.
    pub fn fragment(source: impl Into<String>, params: &impl bytemuck::Pod) -> Self {
        Self {
            stage: Stage::Fragment,
            ..Self::compute(source, params, [0; 3])
        }
    }

    /// The text without the code that all shaders share.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Values of `override` constants.
    pub fn constants(&self) -> &[(&'static str, f64)] {
        &self.constants
    }

    /// Bytes of the uniform `Params`; empty if there are none.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// Compute or fragment.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether a linear clamping sampler is bound last.
    pub fn sampler(&self) -> bool {
        self.sampler
    }

    /// The complete text to compile, including the code that all shaders share.
    pub fn text(&self) -> String {
        // `enable` directives must come first in WGSL.
        let directive = |l: &&str| l.starts_with("enable ") || l.starts_with("requires ");
        let (head, body): (Vec<&str>, Vec<&str>) = self.source.lines().partition(directive);
        let join = |lines: Vec<&str>| -> String {
            lines.into_iter().flat_map(|line| [line, "\n"]).collect()
        };
        join(head) + include_str!("shared.wgsl") + &join(body)
    }

    /// Lets the shader run without wgpu's runtime checks, which take a third of the time of some kernels on an H200, on devices
    /// like this one and slots that have what it needs. A later change of the dispatch brings the checks back.
    ///
    /// # Safety
    ///
    /// On such a device, on slots that meet these needs, in this order, and for any contents of them, the shader stays inside its
    /// bindings and its workgroup memory, and its loops terminate.
    #[must_use]
    pub unsafe fn trusted(mut self, target: Target, needs: Vec<Need>) -> Self {
        self.trusted = Some(Trust { target, needs });
        self
    }

    /// The dispatch with runtime checks.
    #[must_use]
    pub fn checked(mut self) -> Self {
        self.trusted = None;
        self
    }

    /// Whether the shader may run without runtime checks on the device and the slots of a pass.
    pub fn is_trusted_on(&self, pass: &PassSlots<'_>) -> bool {
        let trusted = self.trusted.as_ref();
        trusted.is_some_and(|trust| trust.target == pass.target && pass.meets(&trust.needs))
    }

    /// The dispatch with the value of an `override` constant.
    #[must_use]
    pub fn constant(mut self, name: &'static str, value: u32) -> Self {
        self.constants.push((name, f64::from(value)));
        self.checked()
    }

    /// The dispatch with these bytes as parameters; without any, the shader has no `Params`.
    #[must_use]
    pub fn with_params(mut self, bytes: Vec<u8>) -> Self {
        self.params = bytes;
        self.checked()
    }

    /// The dispatch with a sampler bound last.
    #[must_use]
    pub fn with_sampler(mut self) -> Self {
        self.sampler = true;
        self.checked()
    }
}

/// Workgroups needed to cover an image with tiles of `width` × `height`.
pub fn tiles(size: Size, width: u32, height: u32) -> [u32; 3] {
    [
        (size.width as u32).div_ceil(width),
        (size.height as u32).div_ceil(height),
        1,
    ]
}
