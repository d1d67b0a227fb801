//! The memory of a plan, known before it runs.
//!
//! Transient slots with disjoint lifetimes share a buffer. A slot lives from the first pass that uses it to the
//! last; inside a repetition it lives as long as the repetition.

use super::{Backing, Plan, Role, Slot};

/// Which buffer each transient slot uses, and how large the buffers are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// For each slot of the plan: the shared buffer that holds it, if it is a transient slot in a buffer.
    pub place: Vec<Option<usize>>,
    /// Size of each shared buffer in words.
    pub buffers: Vec<usize>,
    /// Bytes of inputs, outputs and history, and of transient slots that are textures.
    pub fixed_bytes: usize,
}

impl Memory {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        self.fixed_bytes.saturating_add(self.transient_bytes())
    }

    /// Bytes of the shared buffers alone.
    pub fn transient_bytes(&self) -> usize {
        let words = self.buffers.iter().copied().fold(0, usize::saturating_add);
        words.saturating_mul(4)
    }
}

impl Plan {
    /// Assigns transient slots to buffers by first and last use.
    pub fn memory(&self) -> Memory {
        let life = self.lifetimes();
        let shared = |s: &Slot| s.role == Role::Transient && s.backing == Backing::Buffer;
        let mut order: Vec<usize> = (0..self.slots.len())
            .filter(|&i| shared(&self.slots[i]))
            .collect();
        // Assigns large slots first, so that small ones fit into existing buffers.
        order.sort_by_key(|&i| std::cmp::Reverse(self.slots[i].words()));
        let mut place = vec![None; self.slots.len()];
        let mut buffers: Vec<(usize, Vec<usize>)> = Vec::new();
        for i in order {
            let apart = |j: &usize| life[*j].1 < life[i].0 || life[i].1 < life[*j].0;
            let free = buffers
                .iter()
                .position(|(_, users)| users.iter().all(apart));
            let at = free.unwrap_or_else(|| {
                buffers.push((self.slots[i].words(), Vec::new()));
                buffers.len() - 1
            });
            buffers[at].1.push(i);
            place[i] = Some(at);
        }
        let fixed_bytes = self
            .slots
            .iter()
            .filter(|s| !shared(s))
            .map(Slot::bytes)
            .fold(0, usize::saturating_add);
        Memory {
            place,
            buffers: buffers.into_iter().map(|(words, _)| words).collect(),
            fixed_bytes,
        }
    }

    /// First and last pass that uses each slot. A slot used in a repetition is live during the whole repetition.
    fn lifetimes(&self) -> Vec<(usize, usize)> {
        let mut life = vec![(usize::MAX, 0); self.slots.len()];
        for section in self.sections() {
            let (first, last) = (section.passes.start, section.passes.end - 1);
            let repeated = section.most > 1;
            for time in section.passes {
                let used = if repeated {
                    (first, last)
                } else {
                    (time, time)
                };
                let pass = &self.passes[time];
                for id in pass.reads.iter().chain(&pass.writes) {
                    let (from, to) = life[id.0];
                    life[id.0] = (from.min(used.0), to.max(used.1));
                }
            }
            if let Some(until) = section.until {
                life[until.slot.0].1 = life[until.slot.0].1.max(last);
            }
        }
        life
    }
}
