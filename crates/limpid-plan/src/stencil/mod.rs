//! Small kernels with a single description: each output pixel is an expression of the pixels around it.
//!
//! [`stencil`] runs a closure once. It reads slots at offsets, computes, and writes; its operations are recorded as a graph, from
//! which the contract (slots and halo), the shader (`gpu.rs`) and the CPU body (`cpu.rs`) are derived, so that they cannot differ.
//!
//! ```text
//! /// The mean of a pixel and its neighbours to the left and right, where they are less than `limit` away.
//! pub fn smooth(limit: f32) -> Stencil {
//!     stencil("smooth", |k| {
//!         let src = k.read();
//!         let (here, limit) = (src.here(), k.param(limit));
//!         let [left, right] = [src.at(-1, 0), src.at(1, 0)].map(|v| (v - here).abs().lt(limit).pick(v, here));
//!         k.write((left + here + right) / 3.0);
//!     })
//! }
//! ```
//!
//! - Pixels outside are those at the border; [`Build::inside`] tells them apart.
//! - What is done to a slot is done to each of its planes, unless a plane is named.
//! - Numbers that differ from frame to frame or from pass to pass are [`Build::param`]: they are uniforms, and the shader's text
//!   stays the same. Numbers that are written as such are constants of the text.

mod cpu;
mod gpu;
mod graph;
mod needs;

pub use graph::{Build, Mask, Read, Value};

use crate::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use graph::Graph;
use limpid_core::{Result, Size};
use std::fmt;
use std::sync::Arc;

/// A kernel described by [`stencil`].
#[derive(Clone)]
pub struct Stencil {
    name: &'static str,
    graph: Arc<Graph>,
    program: Arc<cpu::Program>,
}

/// The kernel that the closure describes.
pub fn stencil(name: &'static str, describe: impl FnOnce(&Build)) -> Stencil {
    let build = Build::default();
    describe(&build);
    let graph = build.finish();
    Stencil {
        name,
        program: Arc::new(cpu::Program::new(&graph)),
        graph: Arc::new(graph),
    }
}

/// Its name, and its parameters if it has any.
impl fmt::Debug for Stencil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match &self.graph.params[..] {
            [] => Ok(()),
            params => write!(f, "{params:?}"),
        }
    }
}

impl Kernel for Stencil {
    fn name(&self) -> &'static str {
        self.name
    }

    fn contract(&self) -> Contract {
        let graph = &self.graph;
        let (across, down) = graph.halo();
        let contract = Contract {
            reach: Some(across.max(down)),
            ..Contract::rows(graph.reads, graph.writes.len(), down)
        };
        match graph.updates() {
            true => contract.updating(),
            false => contract,
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        needs::needs(&self.graph, pass)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        self.program.run(job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(gpu::dispatch(&self.graph, pass))
    }

    fn reads_texture(&self, read: usize) -> bool {
        !self.graph.single(read)
    }

    fn scratch(&self, _size: Size) -> usize {
        self.program.scratch()
    }
}
