//! Consecutive passes of a plan that run once or are repeated.

use super::{Plan, SlotId};
use std::ops::Range;

/// The condition that ends a repetition early.
#[derive(Debug, Clone)]
pub struct Until {
    /// The slot whose first value is checked.
    pub slot: SlotId,
    /// Stop when the value is at or below this.
    pub at_most: f32,
    /// Check after every this many rounds: on a GPU each check waits for the device.
    pub every: usize,
}

/// Consecutive passes.
#[derive(Debug, Clone)]
pub struct Section {
    /// Their range in the plan.
    pub passes: Range<usize>,
    /// Maximum number of repetitions; one for passes that are not repeated.
    pub most: usize,
    /// The condition for stopping early; a recorder, which cannot read results, repeats `most` times.
    pub until: Option<Until>,
}

impl Section {
    /// The section in a plan where it starts `after` passes later and its slots are renumbered.
    pub(super) fn moved(self, after: usize, to: impl Fn(SlotId) -> SlotId) -> Self {
        Self {
            passes: self.passes.start + after..self.passes.end + after,
            most: self.most,
            until: self.until.map(|until| Until {
                slot: to(until.slot),
                ..until
            }),
        }
    }
}

impl Plan {
    /// All passes in order, as sections that run once and sections that are repeated.
    pub fn sections(&self) -> Vec<Section> {
        let once = |passes| Section {
            passes,
            most: 1,
            until: None,
        };
        let (mut all, mut next) = (Vec::new(), 0);
        for repeat in &self.repeats {
            all.push(once(next..repeat.passes.start));
            all.push(repeat.clone());
            next = repeat.passes.end;
        }
        all.push(once(next..self.passes.len()));
        all.retain(|section| !section.passes.is_empty());
        all
    }
}
