//! Frames that consist of two fields although their film does not say so.
//!
//! The rows of one field lie between those of the other. Where something moves, the rows between two rows of a frame fit those of
//! the frame before or after better, whichever was taken closer in time: with the upper field first, even rows of a frame are
//! closer to the odd rows before it, and odd rows to the even rows after it. Whole frames are as close to one as to the other,
//! whatever moves in them, and so is noise. Where a pattern says otherwise, rows of a frame still fit the rows beside them best.

use super::Form;
use super::ends::{Input, Source};
use super::options::{Settings, Span};
use anyhow::Result;
use limpid::Image;
use limpid::io::y4m::Colour;
use std::path::Path;

/// Frames that are looked at in one place of a film.
const LOOK: usize = 12;
/// The most rows of frames with fields: those of high definition.
const MOST_ROWS: usize = 1088;
/// How much closer one must be for a frame to count, relative to both, and in deviations of what noise would give.
const CLOSER: f64 = 0.004;
const DEVIATIONS: f64 = 5.0;
/// How much worse than the closer of the two the rows of the frame itself must fit, relative to the farther one.
const OWN: f64 = 0.2;
/// Frames that must count, and the share of them that must agree.
const VOTES: usize = 4;
const AGREE: f64 = 0.85;

/// Whether the frames of a film consist of fields: `Some(true)` if the upper one comes first.
pub(super) fn hidden(path: &Path, source: &Source, input: &Input) -> Result<Option<bool>> {
    if path == Path::new("-") || matches!(input, Input::Pictures(_)) {
        return Ok(None);
    }
    let rows = input.header().size.height;
    if !(16..=MOST_ROWS).contains(&rows) {
        return Ok(None);
    }
    let mut votes = votes(path, None)?;
    // The middle, in case the beginning stands still.
    let seconds = source.probe.as_deref().and_then(super::Probe::seconds);
    if let Some(middle) = seconds.map(|s| s / 2.0).filter(|s| *s > 2.0) {
        votes.extend(self::votes(path, Some(middle))?);
    }
    let count = |upper| votes.iter().filter(|v| **v == Some(upper)).count();
    let (upper, lower) = (count(true), count(false));
    let most = upper.max(lower);
    let clear = most >= VOTES && most as f64 >= AGREE * votes.len() as f64;
    Ok(clear.then_some(upper > lower))
}

/// For each frame that counts, whether the upper field seems to come first; `None` if it is whole.
fn votes(path: &Path, from: Option<f64>) -> Result<Vec<Option<bool>>> {
    let settings = Settings {
        time: from.map(|from| Span { from, to: None }),
        ..Settings::default()
    };
    // A name that tells nothing, so that frames are not turned.
    let mut source = Source::open(path, Path::new("-.mp4"), &settings)?;
    let form = Form {
        colour: Colour::Stored,
        exact: false,
        fields: false,
    };
    let mut input = source.input(form)?;
    let mut frames: Vec<Image> = Vec::new();
    let (mut votes, mut seen) = (Vec::new(), None);
    for _ in 0..LOOK {
        // A film that cannot be read is told of when it is filtered.
        let Ok(Some(frame)) = input.next_in(seen.take()) else {
            break;
        };
        frames.push(frame);
        if let [before, frame, after] = &frames[..] {
            votes.extend(vote([before, frame, after]));
            seen = Some(frames.remove(0));
        }
    }
    Ok(votes)
}

/// Whether the upper field of a frame seems to come first, `Some(None)` if it is whole; `None` if nothing tells.
fn vote([before, frame, after]: [&Image; 3]) -> Option<Option<bool>> {
    let (mut sums, mut inside) = ([0.0f64; 2], 0.0);
    let (width, height) = (frame.width(), frame.height());
    for y in 1..height - 1 {
        let rows = [y - 1, y + 1].map(|y| frame.row(0, y));
        let others = [before, after, frame].map(|other| other.row(0, y));
        let mut differ = [0.0f32; 3];
        for x in 0..width {
            let between = 0.5 * (rows[0][x] + rows[1][x]);
            for (differ, other) in differ.iter_mut().zip(others) {
                *differ += (between - other[x]).abs();
            }
        }
        // Rows beside odd ones are even.
        inside += f64::from(differ[2]);
        for (i, differ) in differ[..2].iter().copied().enumerate() {
            sums[(i + y) % 2] += f64::from(differ);
        }
    }
    let [lower, upper] = sums;
    let noise = DEVIATIONS * 0.8 / ((width * height) as f64).sqrt();
    let share = (upper - lower) / (upper + lower).max(1e-9);
    let combed = lower.min(upper) - inside < OWN * (upper - lower).abs();
    (share.abs() > noise.max(CLOSER)).then(|| combed.then_some(share < 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture that moves to the right, at a time, with noise.
    fn picture(time: f32, seed: u32) -> Image {
        let mut state = seed.wrapping_mul(7919).wrapping_add(1);
        Image::from_fn(96, 64, 1, |x, y, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            let x = x as f32 - 2.5 * time;
            0.5 + 0.3 * (0.4 * x + 0.1 * y as f32).sin() + 0.15 * noise
        })
    }

    /// A frame whose fields are of two times.
    fn woven(even: f32, odd: f32, seed: u32) -> Image {
        let fields = [picture(even, seed), picture(odd, seed)];
        Image::from_fn(96, 64, 1, |x, y, c| fields[y % 2].get(x, y, c))
    }

    #[test]
    fn fields_are_told_from_frames() {
        let of = |make: &dyn Fn(f32, u32) -> Image| {
            let frames: Vec<Image> = (0..8).map(|n| make(n as f32, n)).collect();
            let all = frames.windows(3);
            all.filter_map(|w| vote([&w[0], &w[1], &w[2]]))
                .collect::<Vec<Option<bool>>>()
        };
        assert_eq!(of(&|t, n| woven(t, t + 0.5, n)), [Some(true); 6]);
        assert_eq!(of(&|t, n| woven(t + 0.5, t, n)), [Some(false); 6]);
        // Whole frames: moving, fading, standing still.
        assert_eq!(of(&picture), [None; 0]);
        assert_eq!(
            of(&|t, n| picture(t, n).map(|v| v * (1.0 - 0.1 * t))),
            [None; 0]
        );
        assert_eq!(of(&|_, n| picture(0.0, n)), [None; 0]);
        assert_eq!(of(&|t, n| picture(t * t, n)), [None; 0]);
    }
}
