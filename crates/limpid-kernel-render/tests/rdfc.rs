//! Values that are not finite do not reach kernels that write constants.

use limpid_core::{Frame, Image, Layer, Size};
use limpid_exec::{Device, Watch};
use limpid_kernel_render::rdfc::zeros;
use limpid_plan::Plan;

#[test]
fn zeros_are_zeros_whatever_is_read() -> limpid_core::Result<()> {
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
