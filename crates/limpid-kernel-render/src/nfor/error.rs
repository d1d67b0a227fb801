//! Evaluation of candidates by the buffer that they were not made from, their blending, and light layers that add up.

use limpid_plan::stencil::{Stencil, Value, stencil};
use limpid_reference::definition::nfor::{MARGIN, MOST};

/// The sum of values; `None` if there are none.
fn sum<'g>(values: impl IntoIterator<Item = Value<'g>>) -> Option<Value<'g>> {
    values.into_iter().reduce(|a, b| a + b)
}

/// Relative squared errors of `count` candidates. Reads: candidates and the data that they are compared with, once or twice,
/// and the squared brightness that errors are relative to. Writes: a plane for each candidate.
pub fn errors(channels: usize, count: usize, judges: usize) -> Stencil {
    stencil("errors", |k| {
        let pairs: Vec<_> = (0..judges).map(|_| k.reads::<2>()).collect();
        let scale = k.read().plane(0).here() * (judges * channels) as f32;
        k.write_planes((0..count).filter_map(|i| {
            let squares = pairs.iter().flat_map(|[made, data]| {
                (0..channels).map(move |c| {
                    let made = made.plane(i * channels + c).here();
                    (made - data.plane(c).here()).squared()
                })
            });
            sum(squares).map(|sum| sum / scale)
        }));
    })
}

/// How much worse candidates are than the first, clamped. Reads: slots of errors, with this many candidates each.
pub fn contest(counts: &[usize]) -> Stencil {
    stencil("contest", |k| {
        let reads: Vec<_> = counts.iter().map(|_| k.read()).collect();
        let all = reads.iter().zip(counts);
        let all: Vec<Value<'_>> = all
            .flat_map(|(read, count)| (0..*count).map(|i| read.plane(i).here()))
            .collect();
        let Some(first) = all.first().copied() else {
            return;
        };
        let off = all.iter().map(|e| (*e - first).max(-MOST).min(MOST));
        k.write_planes(off.collect::<Vec<_>>());
    })
}

/// 1 where a plane has the lowest value by a margin over the planes before it, and 0 elsewhere.
pub fn choose(count: usize) -> Stencil {
    stencil("choose", |k| {
        let read = k.read();
        let mut least = read.plane(0).here();
        let mut won = vec![k.constant(1.0)];
        for i in 1..count {
            let value = read.plane(i).here();
            let better = value.lt(least - MARGIN);
            least = better.pick(value, least);
            let worse = better.pick(0.0, 1.0);
            won.iter_mut().for_each(|w| *w = *w * worse);
            won.push(better.number());
        }
        k.write_planes(won);
    })
}

/// The candidates weighted by the maps, clamped to at least 0. Reads: maps, slots with this many candidates of this many planes
/// each.
pub fn mix(counts: &[usize], planes: usize) -> Stencil {
    stencil("mix", |k| {
        let maps = k.read();
        let reads: Vec<_> = counts.iter().map(|_| k.read()).collect();
        let all: Vec<_> = reads
            .iter()
            .zip(counts)
            .flat_map(|(read, count)| (0..*count).map(move |i| (*read, i)))
            .collect();
        k.write_planes((0..planes).filter_map(|c| {
            let terms = all
                .iter()
                .enumerate()
                .map(|(map, (read, i))| maps.plane(map).here() * read.plane(i * planes + c).here());
            sum(terms).map(|sum| sum.max(0.0))
        }));
    })
}

/// The sum of this many slots.
pub fn total(slots: usize) -> Stencil {
    stencil("sum", |k| {
        let reads: Vec<_> = (0..slots).map(|_| k.read().here()).collect();
        if let Some(sum) = sum(reads) {
            k.write(sum);
        }
    })
}

/// One of `count` light layers, scaled so that all add up to the colour. Reads: the layer, the colour, the sum of all.
pub fn balance(count: usize) -> Stencil {
    stencil("balance", |k| {
        let [light, color, sum] = k.reads().map(|r| r.here());
        let share = k.param(1.0 / count as f32);
        k.write(sum.gt(0.0).pick(light * (color / sum), color * share));
    })
}
