//! The change of an image sequence from frame to frame beyond its motion.

use super::{check, mean};
use limpid_core::{Error, Image, Result};

/// Mean absolute difference between a frame and the previous one, warped by `motion` (previous position minus current position
/// of a point, in pixels). Points that were outside the image are ignored.
///
/// The flicker of a sequence is this value minus that of its reference.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let before = Image::from_fn(8, 4, 3, |x, _, _| x as f32);
/// let now = Image::from_fn(8, 4, 3, |x, _, _| x as f32 + 1.0);
/// let motion = Image::from_fn(8, 4, 2, |_, _, c| [1.0, 0.0][c]);
/// assert_eq!(metric::change(&now, &before, Some(&motion))?, 0.0);
/// assert_eq!(metric::change(&now, &before, None)?, 1.0);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn change(now: &Image, before: &Image, motion: Option<&Image>) -> Result<f64> {
    check(now, before)?;
    if let Some(motion) = motion.filter(|m| m.size() != now.size() || m.channels() != 2) {
        return Err(Error::mismatch(format!(
            "motion is {} with {} channels, the image is {}",
            motion.size(),
            motion.channels(),
            now.size()
        )));
    }
    let (width, height) = (now.width(), now.height());
    let moved = |x: usize, y: usize, axis: usize| motion.map_or(0.0, |m| m.get(x, y, axis));
    // Sums and counts use one mean each, so that both have the same order.
    let row = |y: usize, count: bool| {
        let mut sum = 0.0;
        for x in 0..width {
            let (px, py) = (x as f32 + moved(x, y, 0), y as f32 + moved(x, y, 1));
            let inside =
                px >= 0.0 && py >= 0.0 && px <= (width - 1) as f32 && py <= (height - 1) as f32;
            if !inside {
                continue;
            }
            if count {
                sum += now.channels() as f64;
                continue;
            }
            for c in 0..now.channels() {
                sum += f64::from((now.get(x, y, c) - bilinear(before, px, py, c)).abs());
            }
        }
        sum
    };
    let counted = mean(height, 1, |y| row(y, true));
    Ok(mean(height, 1, |y| row(y, false)) / counted.max(1.0))
}

fn bilinear(image: &Image, x: f32, y: f32, c: usize) -> f32 {
    let (left, top) = (x as usize, y as usize);
    let (right, bottom) = (
        (left + 1).min(image.width() - 1),
        (top + 1).min(image.height() - 1),
    );
    let (fx, fy) = (x - left as f32, y - top as f32);
    let along = |y: usize| image.get(left, y, c) * (1.0 - fx) + image.get(right, y, c) * fx;
    along(top) * (1.0 - fy) + along(bottom) * fy
}
