//! Plans of transforms: inputs are arrays, outputs are arrays in their order, then what lies between.

use super::taps::taps;
use super::{Rows, array};
use limpid_core::{Error, Layer, Result, Size};
use limpid_plan::{Plan, Role, SlotId};

fn count(shape: &[usize]) -> Result<usize> {
    let all = shape
        .iter()
        .try_fold(1usize, |n, side| n.checked_mul(*side));
    match all {
        Some(0) => Err(Error::input(format!(
            "an array of shape {shape:?} is empty: the CPU takes it, a GPU does not"
        ))),
        // Shaders count in 32 bits.
        Some(n) if n < 1 << 30 => Ok(n),
        _ => Err(Error::unsupported(format!(
            "an array of shape {shape:?}: a GPU takes fewer than 2^30 numbers at a time"
        ))),
    }
}

fn input(plan: &mut Plan, shape: &[usize]) -> Result<SlotId> {
    let count = count(shape)?;
    Ok(array(plan, "x", Role::Input(Layer::COLOR), count))
}

fn output(plan: &mut Plan, shape: &[usize]) -> Result<SlotId> {
    let count = count(shape)?;
    Ok(array(plan, "y", Role::Output(Layer::COLOR), count))
}

fn with(shape: &[usize], axis: usize, n: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = n;
    shape
}

/// A map along one axis of an array of this shape.
pub fn along(shape: &[usize], axis: usize, rows: &Rows) -> Result<Plan> {
    let mut plan = Plan::new("along", Size::new(1, 1));
    let x = input(&mut plan, shape)?;
    let y = output(&mut plan, &with(shape, axis, rows.count))?;
    taps(&mut plan, &[x], &[y], shape, (axis, rows));
    Ok(plan)
}

/// Two maps along each of the axes: an output for each choice of one of them per axis, the first axis slowest, low before high.
///
/// These outputs come first; what lies between them and the input are more outputs, to be dropped.
pub fn split(shape: &[usize], axes: &[(usize, Rows)]) -> Result<Plan> {
    let mut plan = Plan::new("split", Size::new(1, 1));
    let x = input(&mut plan, shape)?;
    let mut after = shape.to_vec();
    for (axis, rows) in axes {
        after[*axis] = rows.count;
    }
    let mut bands = Vec::new();
    for _ in 0..1usize << axes.len() {
        bands.push(output(&mut plan, &after)?);
    }
    let (mut now, mut shape) = (vec![x], shape.to_vec());
    for (i, (axis, rows)) in axes.iter().enumerate() {
        let next = with(&shape, *axis, rows.count);
        let mut made = Vec::new();
        for from in now {
            let to = match i + 1 == axes.len() {
                true => [bands[made.len()], bands[made.len() + 1]],
                false => [output(&mut plan, &next)?, output(&mut plan, &next)?],
            };
            taps(&mut plan, &[from], &to, &shape, (*axis, rows));
            made.extend(to);
        }
        (now, shape) = (made, next);
    }
    Ok(plan)
}

/// The reverse of [`split`]: an array is the sum of maps of all its bands, of this shape. Inputs are the bands that are
/// `given`, in the order of [`split`]; the others are zero.
pub fn join(shape: &[usize], axes: &[(usize, Rows)], given: &[bool]) -> Result<Plan> {
    let mut plan = Plan::new("join", Size::new(1, 1));
    let mut now = Vec::new();
    for given in given {
        now.push(match given {
            true => Some(input(&mut plan, shape)?),
            false => None,
        });
    }
    let mut whole = shape.to_vec();
    for (axis, rows) in axes {
        whole[*axis] = rows.count;
    }
    let out = output(&mut plan, &whole)?;
    let mut shape = shape.to_vec();
    for (i, (axis, rows)) in axes.iter().enumerate().rev() {
        let next = with(&shape, *axis, rows.count);
        let mut made = Vec::new();
        for pair in now.chunks_exact(2) {
            let from: Vec<SlotId> = pair.iter().flatten().copied().collect();
            if from.is_empty() {
                made.push(None);
                continue;
            }
            let to = match i {
                0 => out,
                _ => output(&mut plan, &next)?,
            };
            let one = usize::from(pair[0].is_none());
            let rows = match from.len() {
                1 => &rows.only(one),
                _ => rows,
            };
            taps(&mut plan, &from, &[to], &shape, (*axis, rows));
            made.push(Some(to));
        }
        (now, shape) = (made, next);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;
    use crate::bank::Bank;
    use limpid_wavelet::Boundary;

    #[test]
    fn plans_are_valid() -> Result<()> {
        let bank = Bank::<f64>::new(&[0.5, 0.5], &[0.5, -0.5], Boundary::Symmetric);
        let rows = |n| bank.analysis_rows(n);
        split(&[6, 5, 8], &[(0, rows(6)), (2, rows(8))])?.check()?;
        let back = [(0, bank.synthesis_rows(3)), (2, bank.synthesis_rows(4))];
        join(&[3, 5, 4], &back, &[true, false, true, true])?.check()?;
        join(&[3, 5, 4], &back, &[false, false, false, true])?.check()?;
        along(&[6, 5, 8], 1, &part(5, 1, 3))?.check()?;
        assert!(along(&[6, 0, 8], 0, &part(6, 1, 3)).is_err());
        assert!(along(&[1 << 20, 2, 1 << 12], 1, &part(2, 0, 1)).is_err());
        Ok(())
    }
}
