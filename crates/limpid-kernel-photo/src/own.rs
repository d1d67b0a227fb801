//! Trust in this crate's own shaders.

use limpid_plan::{Dispatch, Kernel, PassSlots};

/// Lets a shader of this crate run without runtime checks on slots that meet its kernel's needs.
pub(crate) fn own(kernel: &impl Kernel, pass: &PassSlots<'_>, dispatch: Dispatch) -> Dispatch {
    // SAFETY: the shaders of this crate index their bindings by the sizes of the needs, which their parameters repeat. They clamp
    // positions at the border, motion and the places of frames in a ring, and the knots of curves, whatever the slots contain. Kernels
    // whose tables are too short for their planes, or whose step is 0, have no shader. Naga validates their text
    // (`tests/shaders.rs`), and the conformance tests run every schedule and all settings with the checks on.
    unsafe { dispatch.trusted(pass.target, kernel.needs(pass)) }
}
