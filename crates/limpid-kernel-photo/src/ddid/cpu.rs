//! The CPU body: neighbouring pixels in the lanes of a vector.
//!
//! All windows of a vector are folded, transformed by products with small constant matrices and shrunk together, so that no
//! lane idles and window sizes with large prime factors cost no more than others. Only the real part of the noisy image's
//! spectrum is needed, because the weights are even: three quarters of the work of two full spectra.

use super::DualDomain;
use super::panel::{Matrix, Panel, transform};
use super::table::{self, COSINE, COSINE_END, mirror};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat};
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_exp_simd;
use limpid_plan::{Job, View};

/// Maximum number of SIMD lanes, for which scratch memory is sized.
const LANES: usize = 16;

/// Scratch memory in words: pixels of the windows, their weights, six folded planes and one temporary plane.
pub(super) fn scratch(radius: usize) -> usize {
    let side = 2 * radius + 1;
    let pixels = 6 * side * (side - 1 + LANES);
    pixels + (side * side + 7 * Panel::new(radius + 1).entries()) * LANES
}

/// One step of the filter on a band of rows.
pub(super) fn filter(kernel: &DualDomain, job: &mut Job<'_>) {
    let level = job.level;
    let tables = Tables::new(kernel);
    dispatch!(level, simd => filter_in(simd, kernel, &tables, job));
}

struct Tables {
    cos: Matrix,
    sin: Matrix,
    space: Vec<f32>,
    /// Factor of the scale of each frequency, plane by plane; 1 for white noise.
    powers: Vec<f32>,
}

impl Tables {
    fn new(kernel: &DualDomain) -> Self {
        let r = kernel.radius;
        Self {
            cos: Matrix::new(&table::cosines(r), r + 1),
            sin: Matrix::new(&table::sines(r), r),
            space: table::space(r, kernel.space),
            powers: match (kernel.spectrum.is_empty(), kernel.power) {
                (true, _) => vec![1.0; 3 * (r + 1) * (r + 1)],
                (false, Some(_)) => kernel.spectrum.iter().map(|p| 1.0 / p).collect(),
                (false, None) => kernel.spectrum.clone(),
            },
        }
    }
}

#[inline(always)]
fn filter_in<S: Simd>(simd: S, kernel: &DualDomain, tables: &Tables, job: &mut Job<'_>) {
    let size = job.writes[0].size();
    let planes = job.writes[0].planes();
    let lanes = S::f32s::LEN;
    for y in job.rows.clone() {
        for x in (0..size.width).step_by(lanes) {
            let (guide, noisy) = (&job.reads[0], &job.reads[1]);
            let mut block = Block::new(kernel, planes, lanes, job.scratch);
            block.load(guide, noisy, x, y);
            let made = block.run(simd, tables);
            let count = lanes.min(size.width - x);
            for (plane, values) in made.iter().enumerate().take(planes) {
                job.writes[0].row(plane, y)[x..x + count]
                    .copy_from_slice(&values.as_slice()[..count]);
            }
        }
    }
}

/// The windows of neighbouring pixels, one per lane.
struct Block<'a> {
    kernel: &'a DualDomain,
    planes: usize,
    lanes: usize,
    /// Pixels of the guide's planes, then of the noisy image's: `side` rows of `pitch`.
    pixels: &'a mut [f32],
    /// Weights: `side²` vectors.
    weights: &'a mut [f32],
    /// Folded windows and their spectra: guide cos·cos, sin·sin, sin·cos, cos·sin; noisy cos·cos, sin·sin (along x, y).
    folded: [&'a mut [f32]; 6],
    between: &'a mut [f32],
}

impl<'a> Block<'a> {
    fn new(kernel: &'a DualDomain, planes: usize, lanes: usize, scratch: &'a mut [f32]) -> Self {
        let side = 2 * kernel.radius + 1;
        let (pixels, rest) = scratch.split_at_mut(2 * planes * side * (side - 1 + lanes));
        let (weights, mut rest) = rest.split_at_mut(side * side * lanes);
        let entries = Panel::new(kernel.radius + 1).entries() * lanes;
        let mut next = || {
            let (plane, others) = std::mem::take(&mut rest).split_at_mut(entries);
            rest = others;
            plane
        };
        Self {
            kernel,
            planes,
            lanes,
            pixels,
            weights,
            folded: std::array::from_fn(|_| next()),
            between: next(),
        }
    }

    fn side(&self) -> usize {
        2 * self.kernel.radius + 1
    }

    fn pitch(&self) -> usize {
        self.side() - 1 + self.lanes
    }

    /// Loads the pixels of all windows, mirrored beyond the image's borders.
    fn load(&mut self, guide: &View<'_>, noisy: &View<'_>, x: usize, y: usize) {
        let (r, side, pitch) = (self.kernel.radius as isize, self.side(), self.pitch());
        let size = guide.size();
        let left = x as isize - r;
        let inside = left >= 0 && left as usize + pitch <= size.width;
        let mut rows = self.pixels.chunks_exact_mut(pitch);
        for (view, plane) in [guide, noisy]
            .into_iter()
            .flat_map(|v| (0..self.planes).map(move |p| (v, p)))
        {
            for (j, row) in rows.by_ref().take(side).enumerate() {
                let source = view.row(plane, mirror(y as isize + j as isize - r, size.height));
                if inside {
                    row.copy_from_slice(&source[left as usize..][..pitch]);
                } else {
                    for (i, v) in row.iter_mut().enumerate() {
                        *v = source[mirror(left + i as isize, size.width)];
                    }
                }
            }
        }
    }

    /// One vector of pixels: window coordinates `(i, j)`, each 0 … 2r.
    #[inline(always)]
    fn pixel<S: Simd>(&self, simd: S, plane: usize, j: usize, i: usize) -> S::f32s {
        let at = (plane * self.side() + j) * self.pitch() + i;
        S::f32s::from_slice(simd, &self.pixels[at..at + S::f32s::LEN])
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, simd: S, tables: &Tables) -> [S::f32s; 3] {
        let (base, squares) = self.weigh(simd, &tables.space);
        let mut made = [S::f32s::splat(simd, 0.0); 3];
        for plane in 0..self.planes {
            self.fold(simd, plane, base[plane], base[3 + plane]);
            for (folded, (along_x, along_y)) in self.folded.iter_mut().zip([
                (&tables.cos, &tables.cos),
                (&tables.sin, &tables.sin),
                (&tables.sin, &tables.cos),
                (&tables.cos, &tables.sin),
                (&tables.cos, &tables.cos),
                (&tables.sin, &tables.sin),
            ]) {
                transform(simd, along_x, along_y.count(), folded, self.between);
                transform(simd, along_y, along_x.count(), self.between, folded);
            }
            let count = (self.kernel.radius + 1).pow(2);
            let total = self.shrink(simd, squares, &tables.powers[plane * count..][..count]);
            let share = self.kernel.confidence / (self.side() * self.side()) as f32;
            let r = self.kernel.radius;
            made[plane] = self.pixel(simd, self.planes + plane, r, r) - total * share;
        }
        made
    }

    /// Computes the weights. Returns the offsets of the guide's planes and of the noisy image's (Eq. 4.3), and the sum of
    /// squared weights.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, space: &[f32]) -> ([S::f32s; 6], S::f32s) {
        match self.planes {
            1 => self.weigh_planes::<S, 1>(simd, space),
            _ => self.weigh_planes::<S, 3>(simd, space),
        }
    }

    #[inline(always)]
    fn weigh_planes<S: Simd, const P: usize>(
        &mut self,
        simd: S,
        space: &[f32],
    ) -> ([S::f32s; 6], S::f32s) {
        let (r, side, lanes) = (self.kernel.radius, self.side(), S::f32s::LEN);
        let zero = S::f32s::splat(simd, 0.0);
        let (mut here, mut noisy) = ([zero; P], [zero; P]);
        for p in 0..P {
            here[p] = self.pixel(simd, p, r, r);
            noisy[p] = self.pixel(simd, P + p, r, r);
        }
        let (mut sum, mut squares) = (zero, zero);
        let (mut guide_sum, mut noisy_sum) = ([zero; P], [zero; P]);
        let inverse = 1.0 / self.kernel.range;
        for j in 0..side {
            for i in 0..side {
                let mut off = [zero; P];
                let mut difference = zero;
                for p in 0..P {
                    off[p] = self.pixel(simd, p, j, i) - here[p];
                    difference = off[p].mul_add(off[p], difference);
                }
                let near = match self.kernel.power {
                    Some(power) => cosine(simd, difference * inverse, power),
                    None => near_or_nothing(simd, difference * -inverse),
                };
                let k = near * (space[j] * space[i]);
                k.store_slice(&mut self.weights[(j * side + i) * lanes..][..lanes]);
                sum += k;
                squares = k.mul_add(k, squares);
                for p in 0..P {
                    guide_sum[p] = off[p].mul_add(k, guide_sum[p]);
                    let off = self.pixel(simd, P + p, j, i) - noisy[p];
                    noisy_sum[p] = off.mul_add(k, noisy_sum[p]);
                }
            }
        }
        let trust = S::f32s::splat(simd, self.kernel.confidence) / sum;
        let mut base = [zero; 6];
        for p in 0..P {
            base[p] = here[p] + guide_sum[p] * trust;
            base[3 + p] = noisy[p] + noisy_sum[p] * trust;
        }
        (base, squares)
    }

    /// The weighted difference from `base` of one pixel of the windows.
    #[inline(always)]
    fn weighted<S: Simd>(
        &self,
        simd: S,
        plane: usize,
        (j, i): (usize, usize),
        base: S::f32s,
    ) -> S::f32s {
        let k = get(simd, self.weights, j * self.side() + i);
        (self.pixel(simd, plane, j, i) - base) * k
    }

    /// The four pixels at `(±x, ±y)` from the centre: their sum, and the sums with the signs of x·y, x and y.
    #[inline(always)]
    fn crossed<S: Simd>(
        &self,
        simd: S,
        plane: usize,
        (x, y): (usize, usize),
        base: S::f32s,
    ) -> [S::f32s; 4] {
        let r = self.kernel.radius;
        let a = self.weighted(simd, plane, (r + y, r + x), base);
        let b = self.weighted(simd, plane, (r + y, r - x), base);
        let c = self.weighted(simd, plane, (r - y, r + x), base);
        let d = self.weighted(simd, plane, (r - y, r - x), base);
        let (p, q, u, v) = (a + d, b + c, a - d, b - c);
        [p + q, p - q, u - v, u + v]
    }

    /// Folds the weighted differences of one plane into the six parts.
    #[inline(always)]
    fn fold<S: Simd>(&mut self, simd: S, plane: usize, guide: S::f32s, noisy: S::f32s) {
        let r = self.kernel.radius;
        let other = self.planes + plane;
        let (even, odd) = (Panel::new(r + 1), Panel::new(r));
        let centre = self.weighted(simd, plane, (r, r), guide);
        put(self.folded[0], 0, simd, centre);
        let centre = self.weighted(simd, other, (r, r), noisy);
        put(self.folded[4], 0, simd, centre);
        for at in 1..=r {
            // On the axes, two of the four pixels coincide with the others.
            let a = self.weighted(simd, plane, (r, r + at), guide);
            let b = self.weighted(simd, plane, (r, r - at), guide);
            put(self.folded[0], even.at(0, at), simd, a + b);
            put(self.folded[2], odd.at(0, at - 1), simd, a - b);
            let a = self.weighted(simd, plane, (r + at, r), guide);
            let b = self.weighted(simd, plane, (r - at, r), guide);
            put(self.folded[0], even.at(at, 0), simd, a + b);
            put(self.folded[3], even.at(at - 1, 0), simd, a - b);
            let a = self.weighted(simd, other, (r, r + at), noisy);
            let b = self.weighted(simd, other, (r, r - at), noisy);
            put(self.folded[4], even.at(0, at), simd, a + b);
            let a = self.weighted(simd, other, (r + at, r), noisy);
            let b = self.weighted(simd, other, (r - at, r), noisy);
            put(self.folded[4], even.at(at, 0), simd, a + b);
        }
        for y in 1..=r {
            for x in 1..=r {
                let (cc, ss) = (even.at(y, x), odd.at(y - 1, x - 1));
                let g = self.crossed(simd, plane, (x, y), guide);
                put(self.folded[0], cc, simd, g[0]);
                put(self.folded[1], ss, simd, g[1]);
                put(self.folded[2], odd.at(y, x - 1), simd, g[2]);
                put(self.folded[3], even.at(y - 1, x), simd, g[3]);
                let s = self.crossed(simd, other, (x, y), noisy);
                put(self.folded[4], cc, simd, s[0]);
                put(self.folded[5], ss, simd, s[1]);
            }
        }
    }

    /// The share of a coefficient that is noise.
    #[inline(always)]
    fn noise<S: Simd>(&self, simd: S, re: S::f32s, im: S::f32s, scale: S::f32s) -> S::f32s {
        let magnitude = re.mul_add(re, im * im);
        match self.kernel.power {
            Some(power) => cosine(simd, magnitude * scale, power),
            None => S::f32s::splat(simd, 1.0) - fast_exp_simd(simd, scale / magnitude),
        }
    }

    /// Weights the noisy image's spectrum by the guide's and sums over all frequencies: Eq. 4.5 and 4.6.
    #[inline(always)]
    fn shrink<S: Simd>(&self, simd: S, squares: S::f32s, powers: &[f32]) -> S::f32s {
        let r = self.kernel.radius;
        let power = |fy: usize, fx: usize| powers[fy * (r + 1) + fx];
        let scale = match self.kernel.power {
            Some(_) => S::f32s::splat(simd, 1.0) / (squares * self.kernel.shrink),
            None => squares * -self.kernel.shrink,
        };
        let [gcc, gss, gsc, gcs, scc, sss] = &self.folded;
        let (even, odd) = (Panel::new(r + 1), Panel::new(r));
        let zero = S::f32s::splat(simd, 0.0);
        let mut total = zero;
        for f in 1..=r {
            let (re, im) = (
                get(simd, gcc, even.at(0, f)),
                get(simd, gsc, odd.at(0, f - 1)),
            );
            let s = get(simd, scc, even.at(0, f));
            let here = self.noise(simd, re, im, scale * power(0, f));
            total = here.mul_add(s, total);
            let (re, im) = (
                get(simd, gcc, even.at(f, 0)),
                get(simd, gcs, even.at(f - 1, 0)),
            );
            let s = get(simd, scc, even.at(f, 0));
            let here = self.noise(simd, re, im, scale * power(f, 0));
            total = here.mul_add(s, total);
        }
        for fy in 1..=r {
            for fx in 1..=r {
                let (cc, ss) = (even.at(fy, fx), odd.at(fy - 1, fx - 1));
                let (re, cross) = (get(simd, gcc, cc), get(simd, gss, ss));
                let along = get(simd, gsc, odd.at(fy, fx - 1));
                let across = get(simd, gcs, even.at(fy - 1, fx));
                let (s, t) = (get(simd, scc, cc), get(simd, sss, ss));
                let scale = scale * power(fy, fx);
                let here = self.noise(simd, re - cross, along + across, scale);
                total = here.mul_add(s - t, total);
                let mirrored = self.noise(simd, re + cross, along - across, scale);
                total = mirrored.mul_add(s + t, total);
            }
        }
        // Each frequency also represents its opposite, except the constant.
        let scale = scale * power(0, 0);
        let constant = get(simd, scc, 0) * self.noise(simd, get(simd, gcc, 0), zero, scale);
        total * 2.0 + constant
    }
}

/// `e^x`, flushed to 0 if negligible: later products would be subnormal, which is ten times slower.
#[inline(always)]
fn near_or_nothing<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let near = x.simd_gt(-40.0);
    near.select(fast_exp_simd(simd, x), S::f32s::splat(simd, 0.0))
}

#[inline(always)]
fn get<S: Simd>(simd: S, from: &[f32], at: usize) -> S::f32s {
    let lanes = S::f32s::LEN;
    S::f32s::from_slice(simd, &from[at * lanes..][..lanes])
}

#[inline(always)]
fn put<S: Simd>(to: &mut [f32], at: usize, _simd: S, value: S::f32s) {
    let lanes = S::f32s::LEN;
    value.store_slice(&mut to[at * lanes..][..lanes]);
}

/// `cos(min(π/2, √t))^power`.
#[inline(always)]
fn cosine<S: Simd>(simd: S, t: S::f32s, power: u32) -> S::f32s {
    let t = t.min(S::f32s::splat(simd, COSINE_END));
    let mut c = S::f32s::splat(simd, COSINE[6]);
    for k in [5, 4, 3, 2, 1, 0] {
        c = c.mul_add(t, S::f32s::splat(simd, COSINE[k]));
    }
    let c = c.max(S::f32s::splat(simd, 0.0));
    let mut made = c;
    let mut bit = power.max(1).ilog2();
    while bit > 0 {
        bit -= 1;
        made = made * made;
        if power >> bit & 1 == 1 {
            made *= c;
        }
    }
    made
}
