//! Changes of light: the mean luminance around a pixel beside that of the history.

use limpid_core::Image;

/// Pixels to each side of the window whose mean luminance is compared with that of the history.
pub const AROUND: usize = 3;
/// History counts for less where these means differ by more than this many standard deviations, …
pub const CHANGE: f32 = 3.0;
/// … and by more than this share of the history's mean.
pub const CHANGE_LEAST: f32 = 0.03;

/// The share of the history that counts, from the means of luminance over the windows around a pixel and where it was: 1 if they
/// differ by no more than their noise allows, 0 if by twice as much. Noise is how much the new pixels of the window differ from each
/// other, or the history's pixels over time, whichever is more.
pub(super) fn kept(
    light: impl Fn(usize, usize) -> f64,
    history: &Image,
    now: [usize; 2],
    there: [f64; 2],
) -> f64 {
    let (w, h) = (history.width(), history.height());
    let mean = |[x, y]: [usize; 2], value: &dyn Fn(usize, usize) -> f64| {
        let range = |at: usize, end: usize| at.saturating_sub(AROUND)..(at + AROUND + 1).min(end);
        let (mut sum, mut count) = (0.0, 0.0);
        for y in range(y, h) {
            for x in range(x, w) {
                sum += value(x, y);
                count += 1.0;
            }
        }
        sum / count
    };
    let nearest = |v: f64, end: usize| (v + 0.5).floor().clamp(0.0, (end - 1) as f64) as usize;
    let then = [nearest(there[0], w), nearest(there[1], h)];
    let new = [
        mean(now, &|x, y| light(x, y)),
        mean(now, &|x, y| light(x, y).powi(2)),
    ];
    let moment = |x, y, k| f64::from(history.get(x, y, k));
    let old = mean(then, &|x, y| moment(x, y, 0));
    let spread = mean(then, &|x, y| {
        (moment(x, y, 1) - moment(x, y, 0).powi(2)).max(0.0)
    });
    let pixels = ((2 * AROUND + 1) * (2 * AROUND + 1)) as f64;
    let noise = (spread.max(new[1] - new[0] * new[0]).max(0.0) / pixels).sqrt();
    let bound = f64::from(CHANGE) * noise + f64::from(CHANGE_LEAST) * old.abs();
    let change = (new[0] - old).abs();
    (2.0 - change / bound.max(1e-20)).clamp(0.0, 1.0)
}
