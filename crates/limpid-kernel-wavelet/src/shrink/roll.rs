//! Circular shifts, for cycle spinning.

use super::{Params, params};
use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};

/// Shifts an image circularly, `out(x, y) = in(x + dx, y + dy)`, and accumulates it.
#[derive(Debug, Clone, Copy)]
pub struct Roll {
    /// The shift.
    pub by: (usize, usize),
    /// Factor of each value.
    pub weight: f32,
    /// Whether to add to the existing values.
    pub add: bool,
}

impl Roll {
    fn put(&self, from: &[f32], to: &mut [f32]) {
        let from = &from[..to.len()];
        for i in 0..to.len() {
            let v = self.weight * from[i];
            to[i] = if self.add { to[i] + v } else { v };
        }
    }
}

impl Kernel for Roll {
    fn name(&self) -> &'static str {
        "roll"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::gather(1, 1, None);
        if self.add {
            contract.updating()
        } else {
            contract
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        [Need::planes(slot.size, slot.planes); 2].to_vec()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Size { width, height } = job.reads[0].size();
        let cut = self.by.0 % width;
        for plane in 0..job.reads[0].planes() {
            for y in job.rows.clone() {
                let from = job.reads[0].row(plane, (y + self.by.1) % height);
                let to = job.writes[0].row(plane, y);
                let (right, left) = from.split_at(cut);
                let (a, b) = to.split_at_mut(width - cut);
                self.put(left, a);
                self.put(right, b);
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (size, planes) = (pass.reads[0].size, pass.reads[0].planes);
        let source = Wgsl::default()
            .body(Params::WGSL)
            .constant("ADD", "bool", self.add)
            .slots(pass, &["src", "dst"])
            .body(include_str!("roll.wgsl"))
            .text();
        let mut groups = tiles(size, 16, 16);
        groups[2] = planes as u32;
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params(size, planes, self.by, self.weight), groups),
        ))
    }
}
