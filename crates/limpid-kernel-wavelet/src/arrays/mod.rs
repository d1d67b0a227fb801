//! Transforms of arrays that stay on a GPU, as plans: any axes of any number, any filters and borders.
//!
//! An array is a row of numbers; its shape is known to the plan alone. Along one axis each output is a sum of a few inputs, by a
//! table ([`Rows`]). Other kernels add arrays with weights, sum their squares and shrink them.

mod combine;
mod plans;
mod rows;
mod shrink;
mod taps;
mod total;

pub use combine::{Part, combined};
pub use plans::{along, join, split};
pub use rows::{Rows, part, smoothed};
pub use shrink::{Rule, shrunk, shrunk_by_band};

use limpid_core::Size;
use limpid_plan::{Plan, Role, Slot, SlotId};

/// The grid of a shader with a thread for each of `count` numbers, in workgroups of 256: no side of it is longer than any device
/// allows. The shader's index is `(group.y * COLUMNS + group.x) * 256 + thread`.
fn grid(count: usize) -> [u32; 3] {
    let groups = count.div_ceil(256) as u32;
    [groups.min(COLUMNS), groups.div_ceil(COLUMNS).max(1), 1]
}

/// Workgroups in a row of the grid.
const COLUMNS: u32 = 32_768;

/// An array as a slot.
fn array(plan: &mut Plan, name: &str, role: Role, count: usize) -> SlotId {
    plan.slot(Slot::new(name, role, Size::new(count, 1), 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::Bank;
    use limpid_core::Result;
    use limpid_exec::Device;
    use limpid_exec::gpu::{Recorder, Values};
    use limpid_wavelet::Boundary;

    fn plans() -> Result<Vec<(Plan, Vec<usize>)>> {
        let bank = Bank::<f64>::new(&[0.6, 0.8], &[0.8, -0.6], Boundary::Symmetric);
        let term = |of, by| Part { of, at: 1, by };
        let rows = bank.analysis_rows(6);
        let back = [(0, bank.synthesis_rows(3)), (1, bank.synthesis_rows(2))];
        Ok(vec![
            (split(&[6, 5], &[(0, rows)])?, vec![30]),
            (join(&[3, 2], &back, &[true; 4])?, vec![6; 4]),
            (along(&[6, 5], 1, &part(5, 1, 3))?, vec![30]),
            (
                combined(&[9, 9], 4, &[[term(0, 1.0), term(1, -2.0)]])?,
                vec![9, 9],
            ),
            (shrunk(8, true, Rule::Soft, (0.5, 0.0))?, vec![16]),
            (shrunk(8, false, Rule::Garrote, (0.5, 1.0))?, vec![8]),
            (shrunk_by_band(700, false, Rule::Hard, 0.1)?, vec![700]),
        ])
    }

    /// Every shader is valid, and runs on a device with and without its checks, with finite results.
    #[test]
    fn shaders_run() -> Result<()> {
        let devices = Device::own_for_tests()?;
        let gpus: Vec<_> = devices
            .iter()
            .filter_map(|device| match device {
                Device::Gpu(gpu) => Some(gpu),
                Device::Cpu(_) => None,
            })
            .collect();
        assert_eq!(gpus.len(), 1);
        for (plan, inputs) in plans()? {
            for pass in plan.passes() {
                let slots = pass.slots(&plan, gpus[0].target());
                assert!(
                    pass.kernel().gpu(&slots)?.is_trusted_on(&slots),
                    "{}",
                    pass.name()
                );
            }
            let recorder = Recorder::new(gpus[0], plan)?;
            let mut given = Vec::new();
            for (k, count) in inputs.iter().enumerate() {
                let numbers: Vec<f32> = (0..*count).map(|i| (i + k) as f32 - 3.0).collect();
                given.push(Values::upload(gpus[0], &numbers)?);
            }
            let given: Vec<&Values> = given.iter().collect();
            let before = gpus[0].transfers();
            let made = recorder.apply(&given)?;
            assert_eq!(gpus[0].transfers(), before);
            let mut numbers = vec![f32::NAN; made[0].count()];
            made[0].download(&mut numbers)?;
            assert!(numbers.iter().all(|v| v.is_finite()), "{numbers:?}");
            assert!(recorder.apply(&given[1..]).is_err());
        }
        Ok(())
    }

    /// An odd line, in numbers.
    #[test]
    fn a_line_is_split_and_joined() -> Result<()> {
        let Some(Device::Gpu(gpu)) = Device::own_for_tests()?.pop() else {
            unreachable!("tests have a GPU")
        };
        let bank = Bank::<f64>::new(&[0.5, 0.5], &[-1.0, 1.0], Boundary::Symmetric);
        let plan = split(&[5], &[(0, bank.analysis_rows(5))])?;
        let x = Values::upload(&gpu, &[1.0, 3.0, 2.0, 8.0, 7.0])?;
        let bands = Recorder::new(&gpu, plan)?.apply(&[&x])?;
        let mut numbers = [0.0; 3];
        bands[0].download(&mut numbers)?;
        assert_eq!(numbers, [2.0, 5.0, 7.0]);
        bands[1].download(&mut numbers)?;
        assert_eq!(numbers, [-2.0, -6.0, 0.0]);
        let back = Bank::<f64>::new(&[1.0, 1.0], &[0.5, -0.5], Boundary::Symmetric);
        let plan = join(&[3], &[(0, back.synthesis_rows(3))], &[true, true])?;
        let made = Recorder::new(&gpu, plan)?.apply(&[&bands[0], &bands[1]])?;
        let mut numbers = [0.0; 6];
        made[0].download(&mut numbers)?;
        assert_eq!(numbers, [1.0, 3.0, 2.0, 8.0, 7.0, 7.0]);
        Ok(())
    }
}
