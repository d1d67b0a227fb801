//! The steps of a plan as one list: who only looks at them needs no recursion.

use super::{Pass, Plan, Step, Until};

/// What a walk over the steps meets, in order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Met<'a> {
    /// A pass.
    Pass(&'a Pass),
    /// The steps that follow, as far as the end that belongs to it, are repeated.
    Repeat {
        most: usize,
        until: Option<&'a Until>,
    },
    /// The end of the last repetition that was begun.
    End { until: Option<&'a Until> },
}

impl Plan {
    /// Everything in order, each repetition once.
    pub(super) fn walk(&self) -> Vec<Met<'_>> {
        let mut all = Vec::new();
        gather(&self.steps, &mut all);
        all
    }

    /// All passes in order, each repetition once.
    pub fn passes(&self) -> Vec<&Pass> {
        let pass = |met| match met {
            Met::Pass(pass) => Some(pass),
            Met::Repeat { .. } | Met::End { .. } => None,
        };
        self.walk().into_iter().filter_map(pass).collect()
    }
}

fn gather<'a>(steps: &'a [Step], all: &mut Vec<Met<'a>>) {
    for step in steps {
        match step {
            Step::Pass(pass) => all.push(Met::Pass(pass)),
            Step::Repeat { steps, most, until } => {
                let (most, until) = (*most, until.as_ref());
                all.push(Met::Repeat { most, until });
                gather(steps, all);
                all.push(Met::End { until });
            }
        }
    }
}
