//! Light layers and alpha, filtered by the fits of the colour.

use super::{Build, Chain, Ground, Pair};
use crate::method::carried;
use crate::{Kind, Layer};
use limpid_kernel_render::front::{divide, finish, follow, middle, share};
use limpid_kernel_render::nfor::{balance, total};
use limpid_kernel_render::rdfc::join;
use limpid_plan::SlotId;

/// Planes of other layers that are fitted together: more would exhaust a GPU's registers.
const CHUNK: usize = 6;

/// Other layers that are fitted together.
pub(super) struct Chunk {
    pub(super) slot: SlotId,
    pub(super) planes: usize,
    layers: Vec<(Layer, usize)>,
}

impl Build<'_> {
    /// Light layers over the divisor, or as they are if they have no albedo, clamped like the colour, and alpha unchanged, a few planes at a time.
    pub(super) fn others(&mut self, ground: Ground, before: Pair, after: Pair) -> Vec<Chunk> {
        let layers = carried(self.shape);
        let mut chunks = Vec::new();
        let lit = layers.iter().any(|(l, _)| l.kind != Kind::Alpha);
        let bright = lit.then(|| (self.brightness(before), self.brightness(after)));
        let mut rest = &layers[..];
        while !rest.is_empty() {
            let mut planes = 0;
            let fit = rest.iter().take_while(|(_, n)| {
                planes += n;
                planes <= CHUNK
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            rest = later;
            let mut made = Vec::new();
            for (layer, n) in now {
                let input = self.plan.input(layer.clone(), *n);
                made.push(match (&layer.kind, bright) {
                    (Kind::Light(_), Some((before, after))) => {
                        let divided = match self.method.facts.bare.contains(layer) {
                            true => input,
                            false => self.small(
                                divide(*n != self.channels),
                                "light over divisor",
                                &[input, ground.divide],
                                *n,
                            ),
                        };
                        self.small(follow(), "limited light", &[divided, after, before], *n)
                    }
                    _ => input,
                });
            }
            let planes = now.iter().map(|(_, n)| n).sum();
            let slot = self.plan.transient("other layers", planes);
            let takes: Vec<(usize, usize)> = now.iter().map(|(_, n)| (0, *n)).collect();
            self.plan.pass(join(&takes), made, [slot]);
            chunks.push(Chunk {
                slot,
                planes,
                layers: now.to_vec(),
            });
        }
        chunks
    }

    pub(super) fn write_others(
        &mut self,
        chains: &[Chain],
        chunks: &[Chunk],
        maps: SlotId,
        divide: SlotId,
        color: SlotId,
    ) {
        let mut lights = Vec::new();
        for (chain, chunk) in chains.iter().zip(chunks) {
            let [a, b] = self.mix(chain, maps);
            let mut first = 0;
            for (layer, n) in &chunk.layers {
                let takes = vec![(first, *n)];
                let mut part = |slot| {
                    let out = self.plan.transient("part", *n);
                    self.plan.pass(join(&takes), [slot], [out]);
                    out
                };
                let (a, b) = (part(a), part(b));
                first += n;
                if layer.kind == Kind::Alpha || self.method.facts.bare.contains(layer) {
                    let out = self.plan.output(layer.clone(), *n);
                    let mean = match layer.kind {
                        Kind::Alpha => share(),
                        _ => middle(),
                    };
                    self.plan.pass(mean, [a, b], [out]);
                } else if self.method.facts.adds_up && *n == self.channels {
                    let made = self.small(finish(false), "light", &[a, b, divide], *n);
                    lights.push((layer.clone(), made));
                } else {
                    let out = self.plan.output(layer.clone(), *n);
                    self.plan
                        .pass(finish(*n != self.channels), [a, b, divide], [out]);
                }
            }
        }
        if lights.is_empty() {
            return;
        }
        // The sum of all, a few at a time.
        let n = self.channels;
        let mut sum = None;
        for chunk in lights.chunks(4) {
            let out = self.plan.transient("sum of lights", n);
            let mut reads: Vec<SlotId> = chunk.iter().map(|(_, slot)| *slot).collect();
            reads.extend(sum);
            self.plan.pass(total(reads.len()), reads, [out]);
            sum = Some(out);
        }
        let Some(sum) = sum else { return };
        let count = lights.len();
        for (layer, slot) in lights {
            let out = self.plan.output(layer, n);
            self.plan.pass(balance(count), [slot, color, sum], [out]);
        }
    }
}
