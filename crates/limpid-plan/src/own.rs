//! Trust in this crate's own shaders.

use crate::{Dispatch, Need, PassSlots};

/// Lets a shader of this crate run without runtime checks on slots that meet its kernel's needs.
pub(crate) fn own(pass: &PassSlots<'_>, dispatch: Dispatch, needs: Vec<Need>) -> Dispatch {
    // SAFETY: the shaders of this crate index their bindings by the sizes in `Params`, which are those of the needs, clamp offsets
    // at the border, and loop over planes only. Naga validates their text, and the conformance tests run them with the checks on.
    unsafe { dispatch.trusted(pass.target, needs) }
}
