//! The CPU bodies.

use super::{Blend, Limits, OTHERS, PLACES, SURFACE, Trace};
use crate::film::{Clock, Reel};
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::steady::{
    ALBEDO, ALBEDO_AT, DARK, FEATURES, LIGHT_AT, MISSED, MOTION_AT, NOISE_AT, NORMAL, STEPS,
    nearest, share, spline,
};

/// The frames around the output frame, before and after at each distance.
fn around(clock: Clock, reel: Reel) -> Vec<[Option<usize>; 2]> {
    let at = |away: usize| [-(away as i64), away as i64].map(|o| clock.place(reel, o));
    (1..=reel.radius).map(at).collect()
}

/// The features of a frame.
struct Features<'a> {
    planes: [&'a [f32]; FEATURES],
    size: Size,
}

impl<'a> Features<'a> {
    fn new([surfaces, others]: [&View<'a>; 2], place: usize) -> Self {
        Self {
            planes: std::array::from_fn(|c| match c < SURFACE {
                true => surfaces.plane(place * SURFACE + c),
                false => others.plane(place * OTHERS + c - SURFACE),
            }),
            size: surfaces.size(),
        }
    }

    #[inline(always)]
    fn motion(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let (x, y) = nearest(from, self.size)?;
        let at = y * self.size.width + x;
        Some([self.planes[MOTION_AT][at], self.planes[MOTION_AT + 1][at]])
    }

    /// Where a place in this frame was in the one before.
    #[inline(always)]
    fn before(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let [dx, dy] = self.motion(from)?;
        Some([from[0] + dx, from[1] + dy])
    }

    /// Where a place in the frame before is in this one.
    #[inline(always)]
    fn after(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let mut next = from;
        for _ in 0..STEPS {
            let [dx, dy] = self.motion(next)?;
            next = [from[0] - dx, from[1] - dy];
        }
        let [x, y] = self.before(next)?;
        let found = (x - from[0]).abs() < MISSED && (y - from[1]).abs() < MISSED;
        found.then_some(next)
    }

    /// The features between pixels, without noise and motion.
    #[inline(always)]
    fn between(&self, [x, y]: [f32; 2]) -> [f32; LIGHT_AT + 1] {
        let Size { width, height } = self.size;
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let near = |v: f32, n: usize| v.clamp(0.0, (n - 1) as f32) as usize;
        let columns = [near(left, width), near(left + 1.0, width)];
        let rows = [near(top, height), near(top + 1.0, height)].map(|y| y * width);
        let mut made = [0.0; LIGHT_AT + 1];
        for (made, plane) in made.iter_mut().zip(self.planes) {
            let [upper, lower] = rows.map(|row| {
                let (a, b) = (plane[row + columns[0]], plane[row + columns[1]]);
                a + fx * (b - a)
            });
            *made = upper + fy * (lower - upper);
        }
        made
    }
}

pub(super) fn trace(kernel: &Trace, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, _simd => traced(kernel, job));
}

#[inline(always)]
fn traced(kernel: &Trace, job: &mut Job<'_>) {
    let (surfaces, clock) = (job.reads[0].clone(), Clock::of(&job.reads[1]));
    let others = job.reads[2].clone();
    let size = surfaces.size();
    let rings = [&surfaces, &others];
    let own = Features::new(rings, clock.centre(kernel.reel));
    let around: Vec<[Option<Features<'_>>; 2]> = around(clock, kernel.reel)
        .into_iter()
        .map(|sides| sides.map(|side| side.map(|place| Features::new(rings, place))))
        .collect();
    for y in job.rows.clone() {
        for x in 0..size.width {
            let at = y * size.width + x;
            let here: [f32; LIGHT_AT + 1] = std::array::from_fn(|c| own.planes[c][at]);
            let from = [x as f32, y as f32];
            let mut places = [Some(from); 2];
            for (away, frames) in around.iter().enumerate() {
                let last = match away {
                    0 => Some(&own),
                    _ => around[away - 1][0].as_ref(),
                };
                let back = places[0].zip(last).and_then(|(p, frame)| frame.before(p));
                let ahead = places[1].zip(frames[1].as_ref());
                let ahead = ahead.and_then(|(p, frame)| frame.after(p));
                places = [back, ahead].map(|p| p.filter(|p| nearest(*p, size).is_some()));
                let (mut light, mut weights) = (0.0, 0.0);
                for (side, (place, frame)) in places.iter().zip(frames).enumerate() {
                    let (mut to, mut weight) = (from, 0.0);
                    if let (Some(place), Some(frame)) = (place, frame) {
                        let there = frame.between(*place);
                        (to, weight) = (*place, surface(&there, &here));
                        light += weight * there[LIGHT_AT];
                        weights += weight;
                    }
                    let first = PLACES * away + 3 * side;
                    for (c, v) in [to[0], to[1], weight].into_iter().enumerate() {
                        job.writes[0].row(first + c, y)[x] = v;
                    }
                }
                let (mean, own_light) = (light / f32::max(weights, 1e-6), here[LIGHT_AT]);
                let scale = 0.5 * (mean + own_light).max(0.0) + DARK;
                let relative = (mean - own_light) / scale / own.planes[NOISE_AT][at];
                job.writes[1].row(2 * away, y)[x] = weights * relative;
                job.writes[1].row(2 * away + 1, y)[x] = weights;
            }
        }
    }
}

/// The weight of a place by its surface.
#[inline(always)]
fn surface(there: &[f32; LIGHT_AT + 1], here: &[f32; LIGHT_AT + 1]) -> f32 {
    let (mut normal, mut albedo) = (0.0, 0.0);
    for c in 0..ALBEDO_AT {
        normal += (there[c] - here[c]).powi(2);
        albedo += (there[ALBEDO_AT + c] - here[ALBEDO_AT + c]).powi(2);
    }
    (-(normal / NORMAL + albedo / ALBEDO)).exp()
}

pub(super) fn blend(kernel: &Blend, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, _simd => blended(kernel, job));
}

#[inline(always)]
fn blended(kernel: &Blend, job: &mut Job<'_>) {
    let (ring, clock) = (job.reads[0].clone(), Clock::of(&job.reads[1]));
    let (places, alike) = (job.reads[2].clone(), job.reads[3].clone());
    let Size { width, height } = ring.size();
    let planes = job.writes[0].planes();
    let centre = clock.centre(kernel.reel);
    let around = around(clock, kernel.reel);
    let given = match kernel.limits {
        Limits::Given => Some(job.reads[4].clone()),
        Limits::Own | Limits::Told => None,
    };
    let mut sums = vec![0.0; planes];
    for y in job.rows.clone() {
        for x in 0..width {
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = ring.row(centre * planes + c, y)[x];
            }
            let mut weights = 1.0;
            for (away, sides) in around.iter().enumerate() {
                for (side, frame) in sides.iter().enumerate() {
                    let at = |c: usize| places.row(PLACES * away + 3 * side + c, y)[x];
                    let weight = at(2) * alike.row(away, y)[x];
                    let Some(frame) = frame.filter(|_| weight > 0.0) else {
                        continue;
                    };
                    let spot = Spot::new([at(0), at(1)], width, height);
                    for (c, sum) in sums.iter_mut().enumerate() {
                        let near = spot.near(ring.plane(frame * planes + c));
                        let limit = (2 * away + side) * planes + c;
                        *sum += weight
                            * match &given {
                                Some(given) => {
                                    near.plain + given.row(limit, y)[x] * (near.sharp - near.plain)
                                }
                                None => near.sharp.max(near.least).min(near.most),
                            };
                        if kernel.limits == Limits::Told {
                            let share = share(near.plain, near.sharp, near.least, near.most);
                            job.writes[1].row(limit, y)[x] = share;
                        }
                    }
                    weights += weight;
                }
            }
            for (c, sum) in sums.iter().enumerate() {
                job.writes[0].row(c, y)[x] = sum / weights;
            }
        }
    }
}

/// Sixteen pixels around a place, and their weights.
struct Spot {
    column: [usize; 4],
    row: [usize; 4],
    weights: [[f32; 4]; 2],
    share: [f32; 2],
}

/// What a plane is there.
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
            share: [x - left, y - top],
        }
    }

    /// Straight lines between the four nearest pixels, splines through all, and the range of the four.
    #[inline(always)]
    fn near(&self, plane: &[f32]) -> Near {
        let ([wx, wy], [fx, fy]) = (self.weights, self.share);
        let (mut sharp, mut least, mut most) = (0.0, f32::INFINITY, f32::NEG_INFINITY);
        let mut lines = [0.0; 2];
        for j in 0..4 {
            let [a, b, c, d] = self.column.map(|x| plane[self.row[j] + x]);
            sharp += wy[j] * (wx[0] * a + wx[1] * b + wx[2] * c + wx[3] * d);
            if j == 1 || j == 2 {
                lines[j - 1] = b + fx * (c - b);
                (least, most) = (least.min(b.min(c)), most.max(b.max(c)));
            }
        }
        Near {
            plain: lines[0] + fy * (lines[1] - lines[0]),
            sharp,
            least,
            most,
        }
    }
}
