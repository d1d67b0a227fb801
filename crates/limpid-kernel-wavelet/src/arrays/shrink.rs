//! Thresholds.

use super::total::squares;
use super::{COLUMNS, array, grid};
use crate::own::own;
use limpid_core::{Error, Layer, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Kernel, Need, PassSlots, Plan, Role, WgslStruct};

params! {
    /// Coefficients, and the threshold; or the noise's variance and the smallest variance of a signal.
    struct Params { count: u32, limit: f32, least: f32, substitute: f32 }
}

/// What is left of a coefficient of magnitude `m` above the threshold `t`; below it nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `m - t`.
    Soft,
    /// `m`.
    Hard,
    /// `m - t² / m`.
    Garrote,
}

#[derive(Debug)]
struct Shrink {
    rule: Rule,
    count: usize,
    /// Real and imaginary parts one after the other.
    complex: bool,
    /// The threshold, or the variance of noise where the band's squares decide.
    limit: f32,
    by_band: bool,
    substitute: f32,
}

impl Shrink {
    fn numbers(&self) -> usize {
        self.count * if self.complex { 2 } else { 1 }
    }
}

impl Kernel for Shrink {
    fn name(&self) -> &'static str {
        match self.by_band {
            true => "shrink-by-band",
            false => "shrink",
        }
    }

    fn contract(&self) -> Contract {
        Contract::whole(if self.by_band { 2 } else { 1 }, 1)
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn needs(&self, _: &PassSlots<'_>) -> Vec<Need> {
        let mut needs = vec![Need::values(self.numbers()); 2];
        if self.by_band {
            needs.insert(1, Need::values(1));
        }
        needs
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let params = Params {
            count: self.count as u32,
            limit: self.limit,
            least: f32::EPSILON,
            substitute: self.substitute,
        };
        let rule = match self.rule {
            Rule::Soft => "1.0 - limit / size",
            Rule::Hard => "1.0",
            Rule::Garrote => "1.0 - (limit / size) * (limit / size)",
        };
        let names: &[&str] = match self.by_band {
            true => &["src", "squares", "dst"],
            false => &["src", "dst"],
        };
        let limit = match self.by_band {
            true => "p.limit / sqrt(max(squares[0] / f32(p.count) - p.limit, p.least))",
            false => "p.limit",
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("COLUMNS", "u32", COLUMNS)
            .constant("COMPLEX", "bool", self.complex)
            .slots(pass, names)
            .body(&format!("fn threshold() -> f32 {{ return {limit}; }}"))
            .body(&format!(
                "fn left(size: f32, limit: f32) -> f32 {{ return {rule}; }}"
            ))
            .body(include_str!("shrink.wgsl"))
            .text();
        let dispatch = Dispatch::compute(text, &params, grid(self.count));
        Ok(own(self, pass, dispatch))
    }
}

fn started(count: usize, complex: bool) -> Result<(Plan, limpid_plan::SlotId, usize)> {
    if count == 0 {
        return Err(Error::input("an empty array; the CPU takes it"));
    }
    let mut plan = Plan::new("shrunk", Size::new(1, 1));
    let numbers = count * if complex { 2 } else { 1 };
    let x = array(&mut plan, "x", Role::Input(Layer::COLOR), numbers);
    Ok((plan, x, numbers))
}

/// Coefficients by a threshold; those below it become `substitute`.
pub fn shrunk(
    count: usize,
    complex: bool,
    rule: Rule,
    (limit, substitute): (f32, f32),
) -> Result<Plan> {
    let (mut plan, x, numbers) = started(count, complex)?;
    let y = array(&mut plan, "y", Role::Output(Layer::COLOR), numbers);
    let kernel = Shrink {
        rule,
        count,
        complex,
        limit,
        by_band: false,
        substitute,
    };
    plan.pass(kernel, [x], [y]);
    Ok(plan)
}

/// Coefficients by BayesShrink: the threshold is the noise's variance over the deviation of the signal, whose variance is the
/// band's mean square less that of the noise.
pub fn shrunk_by_band(count: usize, complex: bool, rule: Rule, variance: f32) -> Result<Plan> {
    let (mut plan, x, numbers) = started(count, complex)?;
    let y = array(&mut plan, "y", Role::Output(Layer::COLOR), numbers);
    let sum = squares(&mut plan, x, numbers);
    let kernel = Shrink {
        rule,
        count,
        complex,
        limit: variance,
        by_band: true,
        substitute: 0.0,
    };
    plan.pass(kernel, [x, sum], [y]);
    Ok(plan)
}
