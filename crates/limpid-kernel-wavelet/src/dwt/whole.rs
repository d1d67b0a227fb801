//! Whole transforms of a plane with the fast bodies, level by level, which tests compare with the definition.

use super::cpu::{forward_level, inverse_level};
use super::pieces::{Threading, sizes, state_words};
use super::plane::{Bands, Plane, halves};
use super::streamed::Streamed;
use limpid_core::{Error, Result, Size};

/// Buffers reused between calls: the low bands of inner levels, and the state of the threads.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    low: [Vec<f32>; 2],
    state: Vec<f32>,
}

impl Workspace {
    fn prepare(&mut self, sizes: &[Size], layout: &Threading) {
        let size = sizes.get(1).map_or(0, |s| s.height * padded(s.width));
        for buffer in &mut self.low {
            if buffer.len() < size {
                buffer.resize(size, 0.0);
            }
        }
        let words = sizes.first().map_or(0, |s| state_words(s.width, layout));
        self.state.resize(words, 0.0);
    }
}

/// Row stride of inner levels: whole cache lines, and never a multiple of a page, because such rows would share cache sets.
fn padded(width: usize) -> usize {
    let lines = width.next_multiple_of(16);
    if lines.is_multiple_of(512) {
        lines + 16
    } else {
        lines
    }
}

fn check(steps: &Streamed, size: Size, levels: usize, lengths: [usize; 2]) -> Result<()> {
    if !steps.takes(size, levels) {
        return Err(Error::unsupported(format!(
            "{levels} levels of this wavelet need even sizes, {size} has odd ones"
        )));
    }
    if size.pixels() > 0 && lengths == [size.pixels(); 2] {
        return Ok(());
    }
    Err(Error::input(format!(
        "a wavelet transform of {size} needs as many values, not {} and {}",
        lengths[0], lengths[1]
    )))
}

/// The packed sub-bands of one plane, `levels` deep.
pub(super) fn forward(
    steps: &Streamed,
    layout: &Threading,
    (src, size): (&[f32], Size),
    levels: usize,
    dst: &mut [f32],
    memory: &mut Workspace,
) -> Result<()> {
    check(steps, size, levels, [src.len(), dst.len()])?;
    if levels == 0 {
        dst.copy_from_slice(src);
        return Ok(());
    }
    let sizes = sizes(size, levels);
    memory.prepare(&sizes, layout);
    let Workspace { low, state } = memory;
    let [mut read, mut write] = low.each_mut().map(|v| v.as_mut_slice());
    for (l, level) in sizes.iter().enumerate() {
        let plane = if l == 0 {
            Plane {
                data: src,
                stride: size.width,
                size,
            }
        } else {
            Plane {
                data: &*read,
                stride: padded(level.width),
                size: *level,
            }
        };
        let apart = (l + 1 < levels).then_some((&mut *write, padded(halves(level.width).0)));
        let packed = (&mut *dst, size.width);
        forward_level((steps, [0.0; 3]), layout, &plane, packed, apart, state);
        std::mem::swap(&mut read, &mut write);
    }
    Ok(())
}

/// The plane whose packed sub-bands these are.
pub(super) fn inverse(
    steps: &Streamed,
    layout: &Threading,
    (packed, size): (&[f32], Size),
    levels: usize,
    dst: &mut [f32],
    memory: &mut Workspace,
) -> Result<()> {
    check(steps, size, levels, [packed.len(), dst.len()])?;
    if levels == 0 {
        dst.copy_from_slice(packed);
        return Ok(());
    }
    let sizes = sizes(size, levels);
    memory.prepare(&sizes, layout);
    let Workspace { low, state } = memory;
    let [mut read, mut write] = low.each_mut().map(|v| v.as_mut_slice());
    for (l, level) in sizes.iter().enumerate().rev() {
        let low_size = Size::new(halves(level.width).0, halves(level.height).0);
        let ll = if l + 1 == levels {
            Plane {
                data: packed,
                stride: size.width,
                size: low_size,
            }
        } else {
            Plane {
                data: &*read,
                stride: padded(low_size.width),
                size: low_size,
            }
        };
        let bands = Bands {
            ll,
            packed,
            stride: size.width,
            size: *level,
            limits: [0.0; 3],
        };
        let out = if l == 0 {
            (&mut *dst, size.width)
        } else {
            (&mut *write, padded(level.width))
        };
        inverse_level(steps, layout, &bands, out, state);
        std::mem::swap(&mut read, &mut write);
    }
    Ok(())
}
