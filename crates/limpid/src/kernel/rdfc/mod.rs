//! The small operations around the filter of [`super::nlm`]: joins, variances, contrast, selection and blending.

mod select;
mod variance;

pub(crate) use select::{blend, select};
pub(crate) use variance::{floor, half_difference, image_variance, scale, square};

use super::stencil::{Stencil, stencil};

/// `max(Var, |∇f|²)`: the tolerated difference of features (Vicini 2015, Eq. 3.10). Reads values and their variance.
pub(crate) fn contrast() -> Stencil {
    stencil("contrast", |k| {
        let [values, variance] = k.reads();
        // Differences over two pixels, over one at the border.
        let (across, down) = (
            k.inside(-1, 0) & k.inside(1, 0),
            k.inside(0, -1) & k.inside(0, 1),
        );
        let dx = (values.at(1, 0) - values.at(-1, 0)) * across.pick(0.5, 1.0);
        let dy = (values.at(0, 1) - values.at(0, -1)) * down.pick(0.5, 1.0);
        k.write(variance.here().max(dx * dx + dy * dy));
    })
}

/// Concatenates planes of several slots in one slot. For each slot read: the first plane taken, and the number of planes.
pub(crate) fn join(takes: &[(usize, usize)]) -> Stencil {
    stencil("join", |k| {
        let reads: Vec<_> = takes.iter().map(|_| k.read()).collect();
        let planes = reads.iter().zip(takes).flat_map(|(read, (first, count))| {
            (*first..first + count).map(|plane| read.plane(plane).here())
        });
        k.write_planes(planes);
    })
}

/// Zeros, with as many planes as the slot read.
pub(crate) fn zeros() -> Stencil {
    stencil("zeros", |k| {
        // Multiplying by zero would give NaN where the slot is infinite.
        let _ = k.read();
        k.write(0.0);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::{Device, Frame, Image, Layer, Size, Watch};

    #[test]
    fn zeros_are_zeros_whatever_is_read() -> crate::Result<()> {
        let values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0];
        let frame = Frame::new(Image::from_fn(4, 1, 1, |x, _, _| values[x]))?;
        let mut plan = Plan::new("zeros", Size::new(4, 1));
        let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
        plan.pass(zeros(), [input], [output]);
        for device in Device::all_for_tests()? {
            let mut out = frame.clone();
            let watch = Watch::default();
            device.runner(plan.clone())?.run(&frame, &mut out, &watch)?;
            assert_eq!(out.color()?.data(), [0.0; 4], "{}", device.name());
        }
        Ok(())
    }
}
