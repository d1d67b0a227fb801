//! The passes.

use super::around::Denoised;
use super::weights::divides;
use super::{Neural, NeuralSchedule, features, time};
use crate::method::network::Build;
use crate::method::{Backend, Schedule, carried};
use crate::{Kind, Layer, Result, Shape};
use limpid_kernel_render::front::between;
use limpid_kernel_render::neural::around::Mix;
use limpid_kernel_render::neural::{Divide, Finish, Guided, Into, Level, Prepare};
use limpid_plan::{Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition::network::BLOCK;
use limpid_reference::definition::neural::{
    DISTRUST, DIVISOR, DIVISOR_STEPS, GUIDES, ImageFacts, NEAR, PRECISION, SHARPNESS, STEPS,
};

impl Build {
    /// A slot that the filter reads or writes.
    fn payload(&mut self, name: String, planes: usize) -> SlotId {
        let size = self.plan.size();
        self.planes(name, size, planes, Element::F32x4)
    }

    /// Both sets of guides, in half precision each one element, and the other outputs.
    pub(in crate::method) fn guides(&mut self, outputs: usize) -> [SlotId; 2] {
        let size = self.plan.size();
        let guides = match self.half {
            true => {
                let slot = Slot::new("guides", Role::Transient, size, 2);
                self.plan.slot(slot.element(Element::U32x4))
            }
            false => self.map("guides", size, PRECISION),
        };
        // On a GPU those of a level form a vector.
        let rest = match self.on {
            Backend::Cpu => outputs / 4 - PRECISION,
            Backend::Gpu => 4 * STEPS.len(),
        };
        [guides, self.map("precisions", size, rest)]
    }

    /// Adds the layers that are filtered along with colour to the payload.
    fn enter(&mut self, entering: &[(Finish, SlotId)], divisor: SlotId, payload: SlotId) {
        for (enter, source) in entering {
            let mut reads = vec![*source];
            reads.extend(enter.exposure.map(|_| divisor));
            self.plan.pass(enter.clone(), reads, [payload]);
        }
    }

    /// Adds the levels of the divisor and of the payload. Returns the slots of both.
    fn filter(
        &mut self,
        network: &[SlotId],
        mut divisor: SlotId,
        mut payload: SlotId,
        planes: usize,
    ) -> (SlotId, SlotId) {
        let with = |slot: SlotId| [&[slot][..], network].concat();
        for (i, step) in DIVISOR_STEPS.into_iter().enumerate() {
            let level = Level {
                step,
                first: 0,
                precision: DIVISOR + i,
                guided: None,
                planes: 3,
                native: self.matrices,
            };
            let next = self.payload(format!("divisor {}", i + 1), 3);
            self.plan.pass(level, with(divisor), [next]);
            divisor = next;
        }
        for (i, step) in STEPS.into_iter().enumerate() {
            let level = Level {
                step,
                first: if NEAR[i] { 0 } else { GUIDES },
                precision: PRECISION + i,
                guided: Some(Guided {
                    sharpness: SHARPNESS + i,
                    distrust: DISTRUST + i,
                }),
                planes,
                native: self.matrices,
            };
            let next = self.payload(format!("level {}", i + 1), planes);
            self.plan.pass(level, with(payload), [next]);
            payload = next;
        }
        (divisor, payload)
    }

    /// Adds the network for a picture, the first of the layers, and filters all layers with its guides. `output` makes the slots of
    /// the results, which are returned.
    pub(super) fn filtered(
        &mut self,
        seen: &NetworkInputs<'_>,
        layers: &[(Layer, usize, SlotId)],
        output: impl Fn(&mut Plan, &Layer, usize) -> SlotId,
    ) -> Result<Vec<SlotId>> {
        let Some(((_, colors, color), others)) = layers.split_first() else {
            return Ok(Vec::new());
        };
        let mut reads = vec![*color];
        reads.extend(seen.features.iter().flatten());
        reads.extend(seen.known.as_ref().map(|known| known.more));
        // Layers filtered along with the colour follow colour and its brightness; on a GPU each in its own vectors.
        let mut places = vec![0];
        let mut planes = 4;
        for (_, channels, _) in others {
            places.push(planes);
            planes += match self.on {
                Backend::Cpu => *channels,
                Backend::Gpu => 4,
            };
        }
        let size = self.plan.size();
        let inputs = self.map("inputs", size, self.loaded.form().inputs);
        let divides = divides(&self.loaded);
        let divisor = self.payload("divisor".into(), 3);
        let payload = self.payload("payload".into(), if divides { 4 } else { planes });
        let prepare = Prepare {
            colors: *colors,
            features: seen.features.map(|slot| slot.is_some()),
            around: seen.known.is_some(),
            whole: seen.whole,
        };
        self.plan.pass(prepare, reads, [inputs, divisor, payload]);
        let entering: Vec<(Finish, SlotId)> = others
            .iter()
            .zip(&places[1..])
            .map(|((layer, channels, source), plane)| {
                (finish(layer, *channels, *plane, seen.whole, true), *source)
            })
            .collect();
        if !divides {
            self.enter(&entering, divisor, payload);
        }
        let turns = seen.method.turns()?;
        let mut made: Vec<SlotId> = Vec::new();
        for turn in 0..turns {
            self.turn = turn;
            let network = self.network(inputs, Into::Guides)?;
            let (mut own, mut light) = (divisor, payload);
            if divides {
                own = self.payload("divisor of the network".into(), 3);
                light = self.payload("payload of the network".into(), planes);
                let reads = [divisor, payload, network[1]];
                self.plan.pass(Divide, reads, [own, light]);
                self.enter(&entering, own, light);
            }
            let (own, light) = self.filter(&network, own, light, planes);
            for (i, ((layer, channels, _), plane)) in layers.iter().zip(&places).enumerate() {
                let leave = finish(layer, *channels, *plane, seen.whole, false);
                let mut reads = vec![light];
                reads.extend(leave.exposure.map(|_| own));
                let made_here = |plan: &mut Plan| match turns {
                    1 => output(plan, layer, *channels),
                    _ => plan.transient(format!("{layer} {}", turn + 1), *channels),
                };
                let next = match &seen.known {
                    None => {
                        let next = made_here(&mut self.plan);
                        self.plan.pass(leave, reads, [next]);
                        next
                    }
                    Some(known) => {
                        let filtered = self.plan.transient(format!("filtered {layer}"), *channels);
                        self.plan.pass(leave, reads, [filtered]);
                        let next = made_here(&mut self.plan);
                        let mix = Mix {
                            radius: known.radius,
                            channels: *channels,
                        };
                        self.plan.pass(
                            mix,
                            [filtered, known.means[i], network[1], known.places],
                            [next],
                        );
                        next
                    }
                };
                if turn == 0 {
                    made.push(next);
                    continue;
                }
                // The mean so far.
                let mean = match turn + 1 == turns {
                    true => output(&mut self.plan, layer, *channels),
                    false => self.plan.transient(format!("mean {layer}"), *channels),
                };
                let share = 1.0 / (turn + 1) as f32;
                self.plan.pass(between(share), [made[i], next], [mean]);
                made[i] = mean;
            }
        }
        Ok(made)
    }
}

/// What the network sees besides a picture.
pub(super) struct NetworkInputs<'a> {
    pub method: &'a Neural,
    /// Albedo, normal and depth.
    pub features: [Option<SlotId>; 3],
    pub whole: ImageFacts,
    /// Frames around, if they are known.
    pub known: Option<AroundSlots>,
}

/// What is known of frames around.
pub(super) struct AroundSlots {
    /// Further planes for the network.
    pub more: SlotId,
    /// Of each layer the mean of results.
    pub means: Vec<SlotId>,
    /// How many frames on each side were looked for, and where pixels were found in them.
    pub radius: usize,
    pub places: SlotId,
}

/// The conversion between a layer and its planes of the payload.
fn finish(layer: &Layer, channels: usize, plane: usize, whole: ImageFacts, enters: bool) -> Finish {
    Finish {
        channels,
        plane,
        exposure: (layer.kind != Kind::Alpha).then_some(whole.exposure),
        enters,
    }
}

pub(super) fn plan(
    method: &Neural,
    shape: &Shape,
    schedule: &Schedule,
    choice: NeuralSchedule,
) -> Result<Plan> {
    let (on, whole) = (schedule.backend(), method.whole());
    let colors = shape.require(&Layer::COLOR)?;
    let mut build = Build {
        plan: Plan::new(format!("neural {schedule}"), shape.size),
        on,
        half: choice != NeuralSchedule::Full,
        matrices: choice == NeuralSchedule::Matrix,
        loaded: method.loaded()?,
        turn: 0,
    };
    let others = carried(shape);
    // The payload: the layers of the frame, or their blend with history.
    let past = method.past(shape)?;
    let (motion, sources) = match &past {
        Some(setup) => {
            let mut slots = time::slots(build.plan, setup, on);
            let (motion, made) = slots.accumulate(setup, method.alpha);
            build.plan = slots.plan;
            (Some(motion), made)
        }
        None => {
            // Tiles need whole blocks of the coarsest map.
            build.plan.set_align(BLOCK);
            let color = build.plan.input(Layer::COLOR, colors);
            let more = others.iter().map(|(l, n)| build.plan.input(l.clone(), *n));
            (None, std::iter::once(color).chain(more).collect())
        }
    };
    let there = features(shape).into_iter();
    let kinds = [Kind::Albedo, Kind::Normal, Kind::Depth].into_iter();
    let mut features = [None; 3];
    for ((slot, kind), _) in (features.iter_mut().zip(kinds).zip(there)).filter(|(_, there)| *there)
    {
        let planes = kind.channels()[0];
        *slot = Some(build.plan.input(kind, planes));
    }
    let layers = std::iter::once((Layer::COLOR, colors)).chain(others);
    let layers = layers.zip(sources).map(|((l, n), slot)| (l, n, slot));
    // Light without albedo is a picture of its own: the colour's guides would give it the edges of textures.
    let bare = |layer: &Layer| {
        let mut all = method.facts.bare.iter();
        all.find(|(l, _)| l == layer).map(|(_, whole)| *whole)
    };
    let (alone, layers): (Vec<_>, Vec<_>) = layers.partition(|(layer, ..)| bare(layer).is_some());
    let resolves = motion.is_some() && !method.no_taa;
    let around = method.around(shape)?;
    // The slot of a layer of the result.
    let output = |plan: &mut Plan, layer: &Layer, channels: usize| match around.is_some()
        || (resolves && layer.kind != Kind::Alpha)
    {
        true => plan.transient("clean", channels),
        false => plan.output(layer.clone(), channels),
    };
    let seen = NetworkInputs {
        method,
        features,
        whole,
        known: None,
    };
    let results = build.filtered(&seen, &layers, output)?;
    let noisy = layers.clone();
    let mut made: Vec<(Layer, usize, SlotId)> = layers
        .into_iter()
        .zip(&results)
        .map(|((layer, channels, _), slot)| (layer, channels, *slot))
        .collect();
    let filtered = made.len();
    for light in alone {
        let [_, normal, depth] = features;
        let seen = NetworkInputs {
            method,
            features: [None, normal, depth],
            whole: bare(&light.0).unwrap_or(whole),
            known: None,
        };
        let (layer, channels, _) = light.clone();
        let slots = build.filtered(&seen, &[light], output)?;
        made.extend(
            slots
                .into_iter()
                .map(|slot| (layer.clone(), channels, slot)),
        );
    }
    if let Some(around) = around {
        let denoised = Denoised {
            layers: noisy,
            results,
            alone: made.split_off(filtered),
            features,
        };
        around.add(&mut build, method, denoised)?;
        return Ok(build.plan);
    }
    made.retain(|(layer, ..)| layer.kind != Kind::Alpha);
    match past.zip(motion) {
        Some((setup, motion)) if resolves => {
            let slots = time::slots(build.plan, &setup, on);
            Ok(time::resolved(slots, &setup, motion, &made))
        }
        _ => Ok(build.plan),
    }
}
