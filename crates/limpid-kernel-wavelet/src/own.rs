//! Trust in this crate's own shaders.

use limpid_plan::{Dispatch, Kernel, PassSlots};

/// Lets a shader of this crate run without runtime checks on slots that meet its kernel's needs.
pub(crate) fn own(kernel: &impl Kernel, pass: &PassSlots<'_>, dispatch: Dispatch) -> Dispatch {
    // SAFETY: the shaders of this crate index their bindings by the sizes of the needs, which their parameters repeat. They mirror
    // positions at the border or clamp them, and clamp the indices of tables, whatever the slots contain. Kernels whose parts or
    // bands do not lie inside their images have no shader. Naga validates their text (`tests/shaders.rs`), and the conformance
    // tests run every schedule and all settings with the checks on.
    unsafe { dispatch.trusted(pass.target, kernel.needs(pass)) }
}
