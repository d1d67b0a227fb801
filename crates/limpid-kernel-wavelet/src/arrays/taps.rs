//! Sums along an axis of an array, by a table.

use super::rows::Rows;
use super::{COLUMNS, grid};
use crate::own::own;
use limpid_core::Result;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Element, Kernel, Need, PassSlots, Plan, SlotId, WgslStruct};

params! {
    /// Lengths along the axis, what is after it, all outputs; the table.
    struct Params {
        before: u32, after: u32, inner: u32, count: u32,
        first: u32, end: u32, phases: u32, stride: u32, terms: u32, end_terms: u32, words: u32,
    }
}

/// Reads one array or two of one shape, writes one or two: along an axis, all by one table.
#[derive(Debug)]
struct Taps {
    params: Params,
    /// Numbers of each array read, and of each written.
    numbers: (usize, usize),
    reads: usize,
    writes: usize,
}

impl Kernel for Taps {
    fn name(&self) -> &'static str {
        match (self.reads, self.writes) {
            (_, 2) => "taps-split",
            (2, _) => "taps-join",
            _ => "taps",
        }
    }

    fn contract(&self) -> Contract {
        Contract::whole(self.reads + 1, self.writes)
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let mut needs = vec![Need::values(self.numbers.0); self.reads];
        needs.push(Need::like(pass.reads[self.reads]).of(Element::U32));
        needs.extend(vec![Need::values(self.numbers.1); self.writes]);
        needs
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let names: &[&str] = match (self.reads, self.writes) {
            (1, 1) => &["x", "table", "y"],
            (1, _) => &["x", "table", "y", "z"],
            _ => &["x", "w", "table", "y"],
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("COLUMNS", "u32", COLUMNS)
            .constant("MAPS", "u32", self.reads.max(self.writes))
            .slots(pass, names);
        // What a term adds, and where the sum goes.
        let text = match (self.reads, self.writes) {
            (1, 1) => text
                .body("fn term(sum: vec2<f32>, at: u32, i: u32) -> vec2<f32> { return sum + vec2<f32>(weight(at, 0u) * x[i], 0.0); }")
                .body("fn put(i: u32, sum: vec2<f32>) { y[i] = sum.x; }"),
            (1, _) => text
                .body("fn term(sum: vec2<f32>, at: u32, i: u32) -> vec2<f32> { return sum + vec2<f32>(weight(at, 0u), weight(at, 1u)) * x[i]; }")
                .body("fn put(i: u32, sum: vec2<f32>) { y[i] = sum.x; z[i] = sum.y; }"),
            _ => text
                .body("fn term(sum: vec2<f32>, at: u32, i: u32) -> vec2<f32> { return sum + vec2<f32>(weight(at, 0u) * x[i], weight(at, 1u) * w[i]); }")
                .body("fn put(i: u32, sum: vec2<f32>) { y[i] = sum.x + sum.y; }"),
        };
        let text = text.body(include_str!("taps.wgsl")).text();
        let dispatch = Dispatch::compute(text, &self.params, grid(self.numbers.1));
        Ok(own(self, pass, dispatch))
    }
}

/// Adds the sums along an axis of arrays of this shape.
pub(super) fn taps(
    plan: &mut Plan,
    from: &[SlotId],
    to: &[SlotId],
    shape: &[usize],
    (axis, rows): (usize, &Rows),
) {
    let (before, after) = (&shape[..axis], &shape[axis + 1..]);
    let (outer, inner): (usize, usize) = (before.iter().product(), after.iter().product());
    let table = rows.table();
    let words = table.words.len();
    let slot = plan.data("table", words, table.words);
    let numbers = (outer * rows.from * inner, outer * rows.count * inner);
    let kernel = Taps {
        params: Params {
            before: rows.from as u32,
            after: rows.count as u32,
            inner: inner as u32,
            count: numbers.1 as u32,
            first: table.regular.start as u32,
            end: table.regular.end as u32,
            phases: table.phases as u32,
            stride: table.stride as u32,
            terms: table.terms as u32,
            end_terms: table.end_terms as u32,
            words: words as u32,
        },
        numbers,
        reads: from.len(),
        writes: to.len(),
    };
    let reads: Vec<SlotId> = from.iter().copied().chain([slot]).collect();
    plan.pass(kernel, reads, to);
}
