//! The passes.

mod features;
mod others;

use super::{ERROR, Layers, Nfor, channels, choice_layer, error_layer, features, halves};
use crate::method::Schedule;
use crate::method::window::box_mean;
use crate::{Kind, Layer, Part, Result, Shape};
use limpid_kernel_render::front::{
    Limit, Surface, brightness, checkerboard, divide, finish, larger, minus, off, pick,
    scale_others, square_difference, square_plus,
};
use limpid_kernel_render::nfor::{LocalRegression, choose, contest, errors, mix};
use limpid_kernel_render::rdfc::join;
use limpid_plan::stencil::Stencil;
use limpid_plan::{Plan, SlotId};
use limpid_reference::definition::nfor::{DARK, DARK_SQUARE, FitSettings, SMOOTH, Settings};

pub(super) fn plan(method: &Nfor, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
    let mut build = Build {
        plan: Plan::new(format!("nfor {schedule}"), shape.size),
        method,
        shape,
        settings: method.settings(),
        channels: channels(shape)?,
    };
    build.run()?;
    // The parity of the checkerboard must not change between tiles.
    build.plan.set_align(match halves(shape) {
        true => 1,
        false => 2 * build.settings.cell,
    });
    Ok(build.plan)
}

/// The slots of the features.
#[derive(Clone, Copy)]
struct Ground {
    class: SlotId,
    divide: SlotId,
    features: Option<SlotId>,
    planes: usize,
    sharp: usize,
}

/// A pair of slots: of buffer A and of buffer B.
type Pair = [SlotId; 2];

/// Layers being processed: the data of the fits, and their results.
struct Chain {
    data: Pair,
    planes: usize,
    /// Slots of candidates with their index.
    made: Vec<(Pair, usize)>,
}

/// The guides of the fits.
#[derive(Clone, Copy)]
struct Guide {
    color: Pair,
    variance: Pair,
    parity: [Option<usize>; 2],
}

struct Build<'a> {
    plan: Plan,
    method: &'a Nfor,
    shape: &'a Shape,
    settings: Settings,
    channels: usize,
}

impl Build<'_> {
    fn run(&mut self) -> Result<()> {
        let n = self.channels;
        let ground = self.ground();
        let two = halves(self.shape);
        let before = self.buffers(ground, two);
        let raw = self.limited(before, ground.class, two);
        let (guide, squares) = if two {
            self.two(raw)
        } else {
            self.one(raw[0], ground)
        };
        let bright = self.brightness(raw);
        let bright = box_mean(&mut self.plan, bright, 2);
        let scale = self.small(square_plus(DARK_SQUARE), "squared brightness", &[bright], 1);
        let mut chains = vec![Chain {
            data: raw,
            planes: n,
            made: Vec::new(),
        }];
        let chunks = self.others(ground, before, raw);
        chains.extend(chunks.iter().map(|chunk| Chain {
            data: [chunk.slot; 2],
            planes: chunk.planes,
            made: Vec::new(),
        }));
        let s = self.settings.clone();
        let mut found = Vec::new();
        self.stage(&mut chains, ground, guide, (&s.first, &s.first_k), None);
        let mut maps = self.choose(&chains[0], &mut found, (two, scale));
        if let Some(second) = &s.second {
            let guide = self.pilot(&chains[0], maps, guide.parity);
            self.stage(&mut chains, ground, guide, (second, &s.second_k), None);
            maps = self.choose(&chains[0], &mut found, (two, scale));
        }
        let guide = self.pilot(&chains[0], maps, [None, None]);
        self.stage(
            &mut chains,
            ground,
            guide,
            (&s.last, &[s.last_k]),
            Some((maps, guide.color)),
        );
        let maps = self.choose(&chains[0], &mut found, (two, scale));

        let halves = self.mix(&chains[0], maps);
        let color = self.plan.output(Layer::COLOR, n);
        let [a, b] = halves;
        self.plan
            .pass(finish(false), [a, b, ground.divide], [color]);
        self.write_others(&chains[1..], &chunks, maps, ground.divide, color);
        if self.method.layers == Layers::All {
            self.write_error(halves, raw, squares, (two, scale));
            for k in 0..self.plan.at(maps).planes {
                let out = self.plan.output(choice_layer(k), 1);
                self.plan.pass(join(&[(k, 1)]), [maps], [out]);
            }
        }
        Ok(())
    }

    /// A small kernel into a new slot.
    fn small(&mut self, kernel: Stencil, name: &str, reads: &[SlotId], planes: usize) -> SlotId {
        let out = self.plan.transient(name, planes);
        self.plan.pass(kernel, reads, [out]);
        out
    }

    fn brightness(&mut self, pair: Pair) -> SlotId {
        let planes = self.plan.at(pair[0]).planes;
        if pair[0] == pair[1] {
            self.small(brightness(planes, 1), "brightness", &pair[..1], 1)
        } else {
            self.small(brightness(planes, 2), "brightness", &pair, 1)
        }
    }

    /// Classes, divisor and features.
    fn ground(&mut self) -> Ground {
        let kinds = features(self.shape);
        let (has, facts) = (|k: Kind| kinds.contains(&k), &self.method.facts);
        let noisy = self.method.noisy();
        let surface = Surface {
            copies: true,
            albedo: has(Kind::Albedo),
            normal: has(Kind::Normal),
            depth: has(Kind::Depth).then_some(facts.depth),
            position: has(Kind::Position).then_some(facts.position),
            divide: !noisy,
            exposure: facts.exposure,
        };
        let planes_of = |kind: &Kind| self.shape.channels(&kind.clone().into()).unwrap_or(0);
        let counts: Vec<usize> = kinds.iter().map(planes_of).collect();
        let mut reads: Vec<SlotId> = Vec::new();
        for (kind, planes) in kinds.iter().zip(&counts) {
            reads.push(self.plan.input(kind.clone(), *planes));
        }
        let inputs = reads.clone();
        if reads.is_empty() {
            reads.push(self.color_input());
        }
        let class = self.plan.transient("class", 1);
        let divide = self.plan.transient("divisor", self.channels);
        let mut writes = vec![class, divide];
        let planes = surface.planes();
        let mut features = None;
        if planes > 0 {
            let slot = self.plan.transient("features", planes);
            writes.push(slot);
            features = Some(slot);
        }
        let kernel = surface.kernel(self.channels, false);
        self.plan.pass(kernel, reads, writes);
        if let (true, Some(slot)) = (noisy, features) {
            features = Some(self.prefiltered(slot, &kinds, &counts, &inputs));
        }
        Ground {
            class,
            divide,
            features,
            planes,
            sharp: surface.sharp(),
        }
    }

    fn color_input(&mut self) -> SlotId {
        let part = if halves(self.shape) {
            Part::HalfA
        } else {
            Part::Mean
        };
        self.plan
            .input(Layer::new(Kind::Color, part), self.channels)
    }

    /// Colour over the divisor: two halves, or one buffer twice.
    fn buffers(&mut self, ground: Ground, two: bool) -> Pair {
        let n = self.channels;
        if two {
            [Part::HalfA, Part::HalfB].map(|part| {
                let half = self.plan.input(Layer::new(Kind::Color, part), n);
                self.small(
                    divide(false),
                    "half over divisor",
                    &[half, ground.divide],
                    n,
                )
            })
        } else {
            let color = self.plan.input(Layer::COLOR, n);
            [self.small(
                divide(false),
                "colour over divisor",
                &[color, ground.divide],
                n,
            ); 2]
        }
    }

    fn limited(&mut self, [a, b]: Pair, class: SlotId, two: bool) -> Pair {
        let n = self.channels;
        let limit = Limit {
            by_other: two,
            floor: DARK,
            step: if two { 1 } else { self.settings.cell },
            brightness: false,
        };
        let bright = self.brightness([a, a]);
        if !two {
            let out = self.plan.transient("limited", n);
            self.plan.pass(limit, [a, bright, bright, class], [out]);
            return [out; 2];
        }
        let other = self.brightness([b, b]);
        let mut make = |from, own, other| {
            let out = self.plan.transient("limited half", n);
            self.plan.pass(limit, [from, own, other, class], [out]);
            out
        };
        [make(a, bright, other), make(b, other, bright)]
    }

    /// Two halves guide each other. The last result is the squared noise of single pixels.
    fn two(&mut self, raw: Pair) -> (Guide, SlotId) {
        let squares = self.small(
            square_difference(0.5),
            "half differences",
            &raw,
            self.channels,
        );
        let variance = box_mean(&mut self.plan, squares, self.settings.variance);
        let guide = Guide {
            color: raw,
            variance: [variance; 2],
            parity: [None, None],
        };
        (guide, squares)
    }

    /// One buffer: the two colours of a checkerboard guide each other.
    fn one(&mut self, y: SlotId, ground: Ground) -> (Guide, SlotId) {
        let n = self.channels;
        let mean = self.plan.transient("mean of neighbours", n);
        let share = self.plan.transient("variance of that mean", 1);
        let cell = self.settings.cell;
        let board = checkerboard(ground.features.is_some(), ground.sharp, cell);
        let mut reads = vec![y, ground.class];
        reads.extend(ground.features);
        self.plan.pass(board, reads, [mean, share]);
        let squares = self.small(off(), "differences", &[y, mean, share], n);
        let variance = box_mean(&mut self.plan, squares, self.settings.variance);
        let mut by_parity =
            |kernel: fn(usize, usize) -> Stencil, name: &str, reads: [SlotId; 2]| {
                [0, 1].map(|parity| self.small(kernel(parity, cell), name, &reads, n))
            };
        let guide = Guide {
            color: by_parity(pick, "guide", [y, mean]),
            variance: by_parity(scale_others, "variance", [variance, share]),
            parity: [Some(0), Some(1)],
        };
        (guide, squares)
    }

    /// Fits all chains: the data of one buffer with the weights of the other. The last fit uses the previous results, which
    /// exist for colour.
    fn stage(
        &mut self,
        chains: &mut [Chain],
        ground: Ground,
        guide: Guide,
        (settings, k): (&FitSettings, &[f32]),
        last: Option<(SlotId, Pair)>,
    ) {
        for (c, chain) in chains.iter_mut().enumerate() {
            let data = match last {
                None => chain.data,
                Some((_, color)) if c == 0 => color,
                Some((maps, _)) => self.mix(chain, maps),
            };
            let made = [0, 1].map(|i| {
                let fit = LocalRegression {
                    settings: *settings,
                    k: k.to_vec(),
                    parity: guide.parity[i],
                    cell: self.settings.cell,
                    channels: self.channels,
                    data: chain.planes,
                    features: ground.planes,
                    sharp: ground.sharp,
                };
                let out = self.plan.transient("candidates", k.len() * chain.planes);
                let mut reads = vec![
                    guide.color[1 - i],
                    guide.variance[1 - i],
                    ground.class,
                    data[i],
                ];
                reads.extend(ground.features);
                self.plan.pass(fit, reads, [out]);
                out
            });
            chain.made.push((made, k.len()));
        }
    }

    /// Evaluates the newest candidates and returns the shares of all.
    fn choose(
        &mut self,
        color: &Chain,
        errors: &mut Vec<(SlotId, usize)>,
        (two, scale): (bool, SlotId),
    ) -> SlotId {
        for (made, count) in &color.made[errors.len()..] {
            let out = self.judged(*made, color.data, two, scale, *count);
            errors.push((out, *count));
        }
        let counts: Vec<usize> = errors.iter().map(|(_, n)| *n).collect();
        let total = counts.iter().sum();
        let off = self.plan.transient("differences of errors", total);
        let reads: Vec<SlotId> = errors.iter().map(|(slot, _)| *slot).collect();
        self.plan.pass(contest(&counts), reads, [off]);
        let off = self.smooth(off, SMOOTH.0);
        let won = self.plan.transient("choice", total);
        self.plan.pass(choose(total), [off], [won]);
        self.smooth(won, SMOOTH.1)
    }

    /// Relative errors of candidates: each buffer evaluates the results of the other, or with one buffer each parity.
    fn judged(&mut self, made: Pair, data: Pair, two: bool, scale: SlotId, count: usize) -> SlotId {
        let n = self.channels;
        let out = self.plan.transient("errors", count);
        if two {
            let reads = [made[0], data[1], made[1], data[0], scale];
            self.plan.pass(errors(n, count, 2), reads, [out]);
        } else {
            let pick = pick(1, self.settings.cell);
            let judged = self.small(pick, "judged", &made, count * n);
            self.plan
                .pass(errors(n, count, 1), [judged, data[0], scale], [out]);
        }
        out
    }

    fn smooth(&mut self, slot: SlotId, radius: usize) -> SlotId {
        let once = box_mean(&mut self.plan, slot, radius);
        box_mean(&mut self.plan, once, radius)
    }

    fn mix(&mut self, chain: &Chain, maps: SlotId) -> Pair {
        [0, 1].map(|i| {
            let out = self.plan.transient("mixture", chain.planes);
            let mut reads = vec![maps];
            reads.extend(chain.made.iter().map(|(made, _)| made[i]));
            let counts: Vec<usize> = chain.made.iter().map(|(_, n)| *n).collect();
            self.plan.pass(mix(&counts, chain.planes), reads, [out]);
            out
        })
    }

    /// The result so far as a guide, with its remaining noise.
    fn pilot(&mut self, color: &Chain, maps: SlotId, parity: [Option<usize>; 2]) -> Guide {
        let pilot = self.mix(color, maps);
        let squares = self.small(
            square_difference(0.5),
            "half differences",
            &pilot,
            self.channels,
        );
        let spread = box_mean(&mut self.plan, squares, 1);
        Guide {
            color: pilot,
            variance: [spread; 2],
            parity,
        }
    }

    /// The estimated error: the difference from the other buffer, minus its own noise.
    fn write_error(
        &mut self,
        halves: Pair,
        raw: Pair,
        variance: SlotId,
        (two, scale): (bool, SlotId),
    ) {
        let n = self.channels;
        let found = self.judged(halves, raw, two, scale, 1);
        let apart = self.small(square_difference(0.25), "half differences", &halves, n);
        let mut relative = |slot| {
            let bright = self.brightness([slot, slot]);
            self.small(divide(false), "relative variance", &[bright, scale], 1)
        };
        let (noise, apart) = (relative(variance), relative(apart));
        let less = self.small(minus(), "less noise", &[found, noise, apart], 1);
        let (less, apart) = (self.smooth(less, 3), self.smooth(apart, 3));
        let [error, excess, spread] = ERROR.map(|name| self.plan.output(error_layer(name), 1));
        self.plan.pass(larger(), [less, apart], [error]);
        self.plan.pass(join(&[(0, 1)]), [less], [excess]);
        self.plan.pass(join(&[(0, 1)]), [apart], [spread]);
    }
}
