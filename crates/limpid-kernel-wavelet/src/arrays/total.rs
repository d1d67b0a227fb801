//! The sum of an array, or of its squares.

use super::array;
use crate::own::own;
use limpid_core::{Layer, Result};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Kernel, Need, PassSlots, Plan, Role, SlotId, WgslStruct};

params! {
    /// Numbers to add, and workgroups that share them.
    struct Params { count: u32, parts: u32 }
}

/// Sums of `parts` shares of an array.
#[derive(Debug)]
struct Total {
    count: usize,
    parts: usize,
    squares: bool,
}

/// Workgroups that share a large array.
const PARTS: usize = 256;

impl Kernel for Total {
    fn name(&self) -> &'static str {
        "total"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn needs(&self, _: &PassSlots<'_>) -> Vec<Need> {
        vec![Need::values(self.count), Need::values(self.parts)]
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let params = Params {
            count: self.count as u32,
            parts: self.parts as u32,
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("SQUARES", "bool", self.squares)
            .slots(pass, &["src", "dst"])
            .body(include_str!("total.wgsl"))
            .text();
        let dispatch = Dispatch::compute(text, &params, [self.parts as u32, 1, 1]);
        Ok(own(self, pass, dispatch))
    }
}

/// Adds the sum of the squares of an array: a slot with one number.
pub(super) fn squares(plan: &mut Plan, of: SlotId, count: usize) -> SlotId {
    let parts = count.div_ceil(256).min(PARTS);
    let some = array(plan, "sums", Role::Output(Layer::COLOR), parts);
    let all = array(plan, "sum", Role::Output(Layer::COLOR), 1);
    let total = |count, parts, squares| Total {
        count,
        parts,
        squares,
    };
    plan.pass(total(count, parts, true), [of], [some]);
    plan.pass(total(parts, 1, false), [some], [all]);
    all
}
