//! The CPU bodies.

use super::{Fetch, Limits, Middle, PLACES, Trace};
use crate::film::{Clock, Reel};
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::around::{MISSED, STEPS, nearest, share, spline};

/// The frames around the output frame, before and after at each distance.
fn around(clock: Clock, reel: Reel) -> Vec<[Option<usize>; 2]> {
    let at = |away: usize| [-(away as i64), away as i64].map(|o| clock.place(reel, o));
    (1..=reel.radius).map(at).collect()
}

/// The motion of a frame.
#[derive(Clone, Copy)]
struct Motion<'a> {
    planes: [&'a [f32]; 2],
    size: Size,
}

impl<'a> Motion<'a> {
    fn new(ring: &View<'a>, place: usize) -> Self {
        Self {
            planes: [0, 1].map(|c| ring.plane(place * 2 + c)),
            size: ring.size(),
        }
    }

    #[inline(always)]
    fn at(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let (x, y) = nearest(from, self.size)?;
        let at = y * self.size.width + x;
        Some([self.planes[0][at], self.planes[1][at]])
    }

    /// Where a place in this frame was in the one before.
    #[inline(always)]
    fn before(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let [dx, dy] = self.at(from)?;
        Some([from[0] + dx, from[1] + dy])
    }

    /// Where a place in the frame before is in this one.
    #[inline(always)]
    fn after(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let mut next = from;
        for _ in 0..STEPS {
            let [dx, dy] = self.at(next)?;
            next = [from[0] - dx, from[1] - dy];
        }
        let [x, y] = self.before(next)?;
        let found = (x - from[0]).abs() < MISSED && (y - from[1]).abs() < MISSED;
        found.then_some(next)
    }
}

pub(super) fn trace(kernel: &Trace, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, _simd => traced(kernel, job));
}

#[inline(always)]
fn traced(kernel: &Trace, job: &mut Job<'_>) {
    let (ring, clock) = (job.reads[0].clone(), Clock::of(&job.reads[1]));
    let size = ring.size();
    let own = Motion::new(&ring, clock.centre(kernel.reel));
    let around: Vec<[Option<Motion<'_>>; 2]> = around(clock, kernel.reel)
        .into_iter()
        .map(|sides| sides.map(|side| side.map(|place| Motion::new(&ring, place))))
        .collect();
    for y in job.rows.clone() {
        for x in 0..size.width {
            let from = [x as f32, y as f32];
            let mut places = [Some(from); 2];
            for (away, frames) in around.iter().enumerate() {
                let last = match away {
                    0 => Some(own),
                    _ => around[away - 1][0],
                };
                let back = places[0].zip(last).and_then(|(p, frame)| frame.before(p));
                let ahead = places[1].zip(frames[1]);
                let ahead = ahead.and_then(|(p, frame)| frame.after(p));
                places = [back, ahead].map(|p| p.filter(|p| nearest(*p, size).is_some()));
                for (side, (place, frame)) in places.iter().zip(frames).enumerate() {
                    let (to, found) = match (place, frame) {
                        (Some(place), Some(_)) => (*place, 1.0),
                        _ => (from, 0.0),
                    };
                    let first = PLACES * away + 3 * side;
                    for (c, v) in [to[0], to[1], found].into_iter().enumerate() {
                        job.writes[0].row(first + c, y)[x] = v;
                    }
                }
            }
        }
    }
}

pub(super) fn fetch(kernel: &Fetch, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, _simd => fetched(kernel, job));
}

#[inline(always)]
fn fetched(kernel: &Fetch, job: &mut Job<'_>) {
    let (ring, clock) = (job.reads[0].clone(), Clock::of(&job.reads[1]));
    let places = job.reads[2].clone();
    let Size { width, height } = ring.size();
    let (channels, factor) = (kernel.channels, kernel.factor);
    let centre = clock.centre(kernel.reel);
    let around = around(clock, kernel.reel);
    let given = (kernel.limits == Limits::Given).then(|| job.reads[3].clone());
    for y in job.rows.clone() {
        for c in 0..channels {
            let from = ring.row(centre * channels + c, y);
            let to = job.writes[0].row(c, y).iter_mut();
            to.zip(from).for_each(|(to, v)| *to = v * factor);
        }
        for (k, frame) in around.iter().flatten().enumerate() {
            let [px, py, found] = [0, 1, 2].map(|c| places.row(3 * k + c, y));
            let first = (1 + k) * channels;
            let Some(frame) = *frame else {
                for c in 0..channels {
                    job.writes[0].row(first + c, y).fill(0.0);
                }
                continue;
            };
            for x in 0..width {
                if found[x] == 0.0 {
                    for c in 0..channels {
                        job.writes[0].row(first + c, y)[x] = 0.0;
                    }
                    continue;
                }
                let spot = Spot::new([px[x], py[x]], width, height);
                for c in 0..channels {
                    let near = spot.near(ring.plane(frame * channels + c));
                    let share = match &given {
                        Some(given) => given.row(first + c, y)[x],
                        None => share(near.plain, near.sharp, near.least, near.most),
                    };
                    let value = near.plain + share * (near.sharp - near.plain);
                    job.writes[0].row(first + c, y)[x] = value * factor;
                    if kernel.limits == Limits::Told {
                        job.writes[1].row(first + c, y)[x] = share;
                    }
                }
            }
        }
    }
}

/// Sixteen pixels around a place, and their weights.
struct Spot {
    column: [usize; 4],
    row: [usize; 4],
    weights: [[f32; 4]; 2],
    part: [f32; 2],
}

/// A plane there: by straight lines, by splines, and the range of the nearest pixels.
struct Near {
    plain: f32,
    sharp: f32,
    least: f32,
    most: f32,
}

impl Spot {
    #[inline(always)]
    fn new([x, y]: [f32; 2], width: usize, height: usize) -> Self {
        let near = |v: f32, n: usize| v.clamp(0.0, (n - 1) as f32) as usize;
        let (left, top) = (x.floor(), y.floor());
        Self {
            column: std::array::from_fn(|i| near(left + i as f32 - 1.0, width)),
            row: std::array::from_fn(|j| near(top + j as f32 - 1.0, height) * width),
            weights: [spline(x - left), spline(y - top)],
            part: [x - left, y - top],
        }
    }

    #[inline(always)]
    fn near(&self, plane: &[f32]) -> Near {
        let [wx, wy] = self.weights;
        let (mut sharp, mut least, mut most) = (0.0, f32::INFINITY, f32::NEG_INFINITY);
        let mut lines = [0.0; 2];
        for j in 0..4 {
            let [a, b, c, d] = self.column.map(|x| plane[self.row[j] + x]);
            sharp += wy[j] * (wx[0] * a + wx[1] * b + wx[2] * c + wx[3] * d);
            if j == 1 || j == 2 {
                (least, most) = (least.min(b.min(c)), most.max(b.max(c)));
                lines[j - 1] = b + self.part[0] * (c - b);
            }
        }
        Near {
            plain: lines[0] + self.part[1] * (lines[1] - lines[0]),
            sharp,
            least,
            most,
        }
    }
}

pub(super) fn middle(kernel: &Middle, job: &mut Job<'_>) {
    let centre = Clock::of(&job.reads[1]).centre(kernel.reel);
    let planes = job.writes[0].planes();
    for y in job.rows.clone() {
        for c in 0..planes {
            let from = job.reads[0].row(centre * planes + c, y);
            job.writes[0].row(c, y).copy_from_slice(from);
        }
    }
}
