//! Partial strength.

use crate::Frame;

/// Computes `in + amount * (out - in)` for the layers that both frames have. With three channels, luminance and chroma have
/// separate amounts.
pub fn blend(input: &Frame, out: &mut Frame, [luminance, chroma]: [f32; 2]) {
    for (layer, before) in input.layers() {
        if let Some(after) = out
            .get_mut(layer.clone())
            .filter(|a| (a.size(), a.channels()) == (before.size(), before.channels()))
        {
            let pixels = before.size().pixels();
            let grey = |k: usize, after: &[f32]| {
                let change = |c: usize| after[c * pixels + k] - before.data()[c * pixels + k];
                crate::luminance([change(0), change(1), change(2)])
            };
            let data = after.data_mut();
            for k in 0..pixels {
                let common = match before.channels() {
                    3 => (luminance - chroma) * grey(k, data),
                    _ => 0.0,
                };
                let amount = if before.channels() == 3 {
                    chroma
                } else {
                    luminance
                };
                for c in 0..before.channels() {
                    let (a, b) = (&mut data[c * pixels + k], before.data()[c * pixels + k]);
                    *a = b + amount * (*a - b) + common;
                }
            }
        }
    }
}
