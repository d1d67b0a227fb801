//! Weighted sums of parts of arrays, written to a part of one.

use super::{COLUMNS, array, grid};
use crate::own::own;
use limpid_core::{Error, Layer, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Kernel, Need, PassSlots, Plan, Role, WgslStruct};

params! {
    /// Where parts begin, how long they are, and the weights.
    struct Params { count: u32, a_at: u32, b_at: u32, to: u32, a_by: f32, b_by: f32 }
}

/// A part of an array with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Which input.
    pub of: usize,
    /// Its first number.
    pub at: usize,
    /// The weight.
    pub by: f32,
}

/// `out[to + i] = a.by · a[a.at + i] + b.by · b[b.at + i]`.
#[derive(Debug)]
struct Combine {
    parts: [Part; 2],
    count: usize,
    to: usize,
}

impl Kernel for Combine {
    fn name(&self) -> &'static str {
        "combine"
    }

    fn contract(&self) -> Contract {
        Contract::whole(2, 1)
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn needs(&self, _: &PassSlots<'_>) -> Vec<Need> {
        let [a, b] = self.parts;
        let values = |at: usize| Need::values(at.saturating_add(self.count));
        vec![values(a.at), values(b.at), values(self.to)]
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let [a, b] = self.parts;
        let params = Params {
            count: self.count as u32,
            a_at: a.at as u32,
            b_at: b.at as u32,
            to: self.to as u32,
            a_by: a.by,
            b_by: b.by,
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("COLUMNS", "u32", COLUMNS)
            .slots(pass, &["a", "b", "dst"])
            .body(include_str!("combine.wgsl"))
            .text();
        let dispatch = Dispatch::compute(text, &params, grid(self.count));
        Ok(own(self, pass, dispatch))
    }
}

/// Pieces of `count` numbers, one after the other, each the sum of two parts of the inputs. `inputs` are the lengths of those.
pub fn combined(inputs: &[usize], count: usize, pieces: &[[Part; 2]]) -> Result<Plan> {
    let mut plan = Plan::new("combined", Size::new(1, 1));
    let mut slots = Vec::new();
    for length in inputs {
        slots.push(array(&mut plan, "x", Role::Input(Layer::COLOR), *length));
    }
    let whole = count * pieces.len();
    if whole == 0 {
        return Err(Error::input("an empty array; the CPU takes it"));
    }
    let out = array(&mut plan, "y", Role::Output(Layer::COLOR), whole);
    for (i, parts) in pieces.iter().enumerate() {
        let kernel = Combine {
            parts: *parts,
            count,
            to: i * count,
        };
        plan.pass(kernel, parts.map(|p| slots[p.of]), [out]);
    }
    Ok(plan)
}
