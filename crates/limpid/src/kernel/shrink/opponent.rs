//! Colours as one bright and two colourful channels.

use crate::definition::shrink::OPPONENT;
use crate::kernel::stencil::{Stencil, stencil};

/// Rotates colours by [`OPPONENT`], or back to red, green and blue.
pub(crate) fn opponent(back: bool) -> Stencil {
    stencil("opponent", |k| {
        let src = k.read();
        let [r, g, b] = [0, 1, 2].map(|plane| src.plane(plane).here());
        let entry = |row: usize, column: usize| match back {
            true => OPPONENT[column][row],
            false => OPPONENT[row][column],
        };
        k.write_planes([0, 1, 2].map(|c| entry(c, 0) * r + entry(c, 1) * g + entry(c, 2) * b));
    })
}
