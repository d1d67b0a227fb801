//! The passes of RDFC, in the order of the pseudocode.

mod front;

use super::{FEATURES, Layers, Rdfc, choice_layer, part, risk_layers, selection_layer};
use crate::method::Schedule;
use crate::method::carried;
use crate::method::window::{box_mean, separable};
use crate::{Error, Kind, Layer, Part, Result, Shape};
use front::Front;
use limpid_kernel_photo::window::Filter;
use limpid_kernel_render::front::{at_least, clamp, squared};
use limpid_kernel_render::nlm::{Feature, Features, Nlm, Noise};
use limpid_kernel_render::rdfc::{
    blend, contrast, floor, half_difference, image_variance, join, scale, select, square, zeros,
};
use limpid_plan::{Plan, SlotId};
use limpid_reference::definition::rdfc::{CLASSES, LEAST_SHARE};

/// Planes that one pass filters besides the guide: more would exhaust a GPU's registers.
const CHUNK: usize = 8;

pub(super) fn plan(rdfc: &Rdfc, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
    let mut build = Build {
        plan: Plan::new(format!("rdfc {schedule}"), shape.size),
        rdfc,
        shape,
    };
    build.run()?;
    Ok(build.plan)
}

/// An estimate in slots. After filtering, `mean` holds the half difference behind the mean.
#[derive(Clone, Copy)]
struct Signal {
    mean: SlotId,
    difference: Option<SlotId>,
    variance: Option<SlotId>,
    planes: usize,
}

/// All features in three slots.
struct Guides {
    slots: [SlotId; 3],
    list: Vec<(usize, f32)>,
}

struct Build<'a> {
    plan: Plan,
    rdfc: &'a Rdfc,
    shape: &'a Shape,
}

impl Build<'_> {
    fn run(&mut self) -> Result<()> {
        // Lines 1 to 9.
        let (color, front) = match self.rdfc.thesis {
            true => (self.signal(Kind::Color)?, None),
            false => self.limited()?,
        };
        let n = color.planes;
        let variance = match color.variance {
            Some(v) => v,
            None => {
                let raw = self.plan.transient("least differences", n);
                self.plan.pass(image_variance(), [color.mean], [raw]);
                box_mean(&mut self.plan, raw, 3)
            }
        };
        let variance = match front {
            Some(_) => {
                let around = box_mean(&mut self.plan, variance, 3);
                let out = self.plan.transient("variance with a floor", n);
                self.plan
                    .pass(at_least(LEAST_SHARE), [variance, around], [out]);
                out
            }
            None => variance,
        };
        let guides = self.features(front.as_ref().map(|f| f.class))?;
        let mean = color.mean;
        let (payload, planes) = match color.difference {
            Some(d) => (self.join("colour", &[(mean, 0, n), (d, 0, n)]), 2 * n),
            None => (mean, n),
        };
        // Lines 10 to 16.
        let residual = color.difference.is_none();
        let mut made = Vec::new();
        let mut risks = Vec::new();
        let mut left = Vec::new();
        for (k, name) in ["r", "g", "b"].into_iter().enumerate() {
            let risk = self.plan.transient(format!("risk {name}"), 2);
            let out = self.plan.transient(format!("candidate {name}"), planes);
            let mut writes = vec![out, risk];
            if residual {
                writes.push(self.plan.transient(format!("variance {name}"), n));
                left.push(writes[2]);
            }
            let mut kernel = self.candidate(k, n, &guides);
            kernel.risk = true;
            kernel.residual = residual;
            let reads = if residual {
                vec![mean, variance]
            } else {
                kernel.payload = Some(planes);
                vec![mean, variance, payload]
            };
            self.pass(kernel, reads, &guides, writes);
            made.push(out);
            risks.push(risk);
        }
        // Lines 17 to 30.
        let raw = self.join(
            "risks",
            &[(risks[0], 0, 1), (risks[1], 0, 1), (risks[2], 0, 1)],
        );
        let risk = self.smooth("smooth risks", (mean, variance, n), raw, 1);
        let choice = self.plan.transient("maps", 3);
        self.plan.pass(
            select(self.rdfc.margin()),
            [risk, risks[0], risks[1]],
            [choice],
        );
        let maps = self.smooth("smooth maps", (mean, variance, n), choice, 5);
        // Lines 31 to 37.
        let pass1 = self.blend("first pass", maps, &made, planes);
        let var1 = if residual {
            self.blend("variance of first pass", maps, &left, n)
        } else {
            self.two_buffer_variance(pass1, n)
        };
        let second = Nlm {
            channels: n,
            payload: Some(planes),
            residual,
            ..self.nlm(self.rdfc.radius / 2, self.rdfc.k_color)
        };
        let (result, var2) = if self.rdfc.second_pass {
            let out = self.plan.transient("second pass", planes);
            let mut writes = vec![out];
            if residual {
                writes.push(self.plan.transient("variance of second pass", n));
            }
            let var2 = writes.get(1).copied();
            self.plan.pass(second.clone(), [pass1, var1, pass1], writes);
            (out, var2)
        } else {
            (pass1, Some(var1))
        };
        self.write(Layer::COLOR, (result, 0, n));
        let filters = (pass1, var1, second);
        self.others((mean, variance, n), &guides, maps, filters, front.as_ref());
        if self.rdfc.layers == Layers::All {
            let variance = match var2 {
                Some(v) => v,
                None => self.two_buffer_variance(result, n),
            };
            self.write(part(Kind::Color, Part::Variance), (variance, 0, n));
            for (k, layer) in risk_layers().into_iter().enumerate() {
                self.write(layer, (risk, k, 1));
            }
            self.write(selection_layer(), (maps, 0, 3));
            self.write(choice_layer(), (choice, 0, 3));
        }
        Ok(())
    }

    /// Light layers and alpha, with the weights of colour, a few planes at a time.
    fn others(
        &mut self,
        (mean, variance, n): (SlotId, SlotId, usize),
        guides: &Guides,
        maps: SlotId,
        (pass1, var1, second): (SlotId, SlotId, Nlm),
        front: Option<&Front>,
    ) {
        let layers = carried(self.shape);
        let mut rest = &layers[..];
        while !rest.is_empty() {
            let mut planes = 0;
            let fit = rest.iter().take_while(|(_, c)| {
                planes += c;
                planes <= CHUNK
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            rest = later;
            let planes = now.iter().map(|(_, c)| c).sum();
            let takes: Vec<(SlotId, usize, usize)> = now
                .iter()
                .map(|(layer, c)| {
                    let slot = self.plan.input(layer.clone(), *c);
                    let follows = front.filter(|_| layer.kind != Kind::Alpha);
                    let slot = follows.map_or(slot, |f| f.follow(&mut self.plan, slot, *c));
                    (slot, 0, *c)
                })
                .collect();
            let payload = self.join("other layers", &takes);
            let mut made = Vec::new();
            for k in 0..3 {
                let out = self.plan.transient("candidate of others", planes);
                let kernel = Nlm {
                    payload: Some(planes),
                    ..self.candidate(k, n, guides)
                };
                self.pass(kernel, vec![mean, variance, payload], guides, vec![out]);
                made.push(out);
            }
            let mut result = self.blend("others, first pass", maps, &made, planes);
            if self.rdfc.second_pass {
                let out = self.plan.transient("others, second pass", planes);
                let kernel = Nlm {
                    payload: Some(planes),
                    residual: false,
                    ..second.clone()
                };
                self.plan.pass(kernel, [pass1, var1, result], [out]);
                result = out;
            }
            let mut first = 0;
            for (layer, c) in now {
                self.write(layer.clone(), (result, first, *c));
                first += c;
            }
        }
    }

    /// Mean, half difference and variance of a layer, if present.
    fn signal(&mut self, kind: Kind) -> Result<Signal> {
        let (mean, halves, planes) = self.inputs(&kind)?;
        let v = part(kind, Part::Variance);
        let variance = self
            .shape
            .has(v.clone())
            .then(|| self.plan.input(v, planes));
        Ok(self.signal_of((mean, halves, planes), variance))
    }

    /// A layer and its halves.
    fn inputs(&mut self, kind: &Kind) -> Result<(SlotId, Option<[SlotId; 2]>, usize)> {
        let layer = Layer::from(kind.clone());
        let planes = self
            .shape
            .channels(&layer)
            .ok_or_else(|| Error::missing(layer.clone(), ""))?;
        let mean = self.plan.input(layer, planes);
        let halves = [Part::HalfA, Part::HalfB].map(|p| part(kind.clone(), p));
        let there = halves.iter().all(|h| self.shape.has(h.clone()));
        let halves = there.then(|| halves.map(|h| self.plan.input(h, planes)));
        Ok((mean, halves, planes))
    }

    fn signal_of(
        &mut self,
        (mean, halves, planes): (SlotId, Option<[SlotId; 2]>, usize),
        variance: Option<SlotId>,
    ) -> Signal {
        let difference = halves.map(|halves| {
            let out = self.plan.transient("half difference", planes);
            self.plan.pass(half_difference(), halves, [out]);
            out
        });
        let samples = variance.map(|v| {
            if !self.rdfc.floored() {
                return v;
            }
            let out = self.plan.transient("floored variance", planes);
            self.plan.pass(floor(), [v], [out]);
            out
        });
        let variance = match (difference, samples) {
            (Some(d), samples) => {
                let two = self.plan.transient("two-buffer variance", planes);
                self.plan.pass(square(0), [d], [two]);
                Some(match samples {
                    Some(s) => {
                        let (a, b) = (
                            box_mean(&mut self.plan, two, 10),
                            box_mean(&mut self.plan, s, 10),
                        );
                        let out = self.plan.transient("scaled variance", planes);
                        self.plan.pass(scale(), [s, a, b], [out]);
                        out
                    }
                    None => box_mean(&mut self.plan, two, 3),
                })
            }
            (None, samples) => samples,
        };
        Signal {
            mean,
            difference,
            variance,
            planes,
        }
    }

    /// Prefilters all features and puts them into three slots.
    fn features(&mut self, class: Option<SlotId>) -> Result<Guides> {
        let mut means = Vec::new();
        let mut variances = Vec::new();
        let mut list = Vec::new();
        for kind in FEATURES {
            if self.shape.has(kind.clone()) {
                let mut signal = self.signal(kind.clone())?;
                if kind == Kind::Albedo && class.is_some() {
                    // Some renderers write emission into albedo.
                    let out = self.plan.transient("clamped albedo", signal.planes);
                    self.plan.pass(clamp(), [signal.mean], [out]);
                    signal.mean = out;
                }
                let (mean, variance) = self.prefilter(signal);
                means.push((mean, 0, signal.planes));
                variances.push((variance, 0, signal.planes));
                list.push((signal.planes, self.rdfc.range2(&kind)));
            }
        }
        if list.is_empty() {
            return Ok(Guides {
                slots: [SlotId(0); 3],
                list,
            });
        }
        let planes = list.iter().map(|(n, _)| n).sum();
        let mean = self.join("features", &means);
        let variance = self.join("variance of features", &variances);
        let spread = self.plan.transient("spread of features", planes);
        self.plan.pass(contrast(), [mean, variance], [spread]);
        let Some(class) = class else {
            return Ok(Guides {
                slots: [mean, variance, spread],
                list,
            });
        };
        // The classes are one more feature with hard edges: its contrast is ignored.
        let [apart, none] = ["classes", "no variance"].map(|name| self.plan.transient(name, 1));
        self.plan.pass(squared(), [class], [apart]);
        self.plan.pass(zeros(), [class], [none]);
        let mut with = |name: &str, slot, one| self.join(name, &[(slot, 0, planes), (one, 0, 1)]);
        let mean = with("features and class", mean, apart);
        let variance = with("variance and none", variance, none);
        let spread = with("spread and none", spread, none);
        list.push((1, CLASSES as f32));
        Ok(Guides {
            slots: [mean, variance, spread],
            list,
        })
    }

    fn prefilter(&mut self, signal: Signal) -> (SlotId, SlotId) {
        let n = signal.planes;
        let Some(variance) = signal.variance else {
            let zero = self.plan.transient("no variance", n);
            self.plan.pass(zeros(), [signal.mean], [zero]);
            return (signal.mean, zero);
        };
        let kernel = Nlm {
            channels: n,
            ..self.nlm(5, 1.0)
        };
        match signal.difference {
            Some(d) => {
                let payload = self.join("feature", &[(signal.mean, 0, n), (d, 0, n)]);
                let out = self.plan.transient("filtered feature", 2 * n);
                let kernel = Nlm {
                    payload: Some(2 * n),
                    ..kernel
                };
                self.plan
                    .pass(kernel, [signal.mean, variance, payload], [out]);
                (out, self.two_buffer_variance(out, n))
            }
            None => {
                let out = self.plan.transient("filtered feature", n);
                let left = self.plan.transient("variance of filtered feature", n);
                let kernel = Nlm {
                    residual: true,
                    ..kernel
                };
                self.plan.pass(kernel, [signal.mean, variance], [out, left]);
                (out, left)
            }
        }
    }

    /// The filter with patch-wise and symmetric weights and variance per pixel.
    fn nlm(&self, radius: usize, k: f32) -> Nlm {
        Nlm {
            patchwise: true,
            symmetric: true,
            ..Nlm::new(radius, 3, k, Noise::Pixel)
        }
    }

    /// Candidate r, g or b.
    fn candidate(&self, k: usize, channels: usize, guides: &Guides) -> Nlm {
        let tau = if k == 2 {
            self.rdfc.tau_features
        } else {
            self.rdfc.tau
        };
        let list: Vec<Feature> = guides
            .list
            .iter()
            .map(|(planes, range2)| Feature {
                planes: *planes,
                tau: tau * range2,
            })
            .collect();
        Nlm {
            channels,
            patch: if k == 0 { 1 } else { 3 },
            color: (k < 2).then_some(self.rdfc.k_color),
            features: (!list.is_empty()).then_some(Features {
                k: self.rdfc.k_feature,
                list,
            }),
            ..self.nlm(self.rdfc.radius, self.rdfc.k_color)
        }
    }

    fn pass(&mut self, kernel: Nlm, mut reads: Vec<SlotId>, guides: &Guides, writes: Vec<SlotId>) {
        if !guides.list.is_empty() {
            reads.extend(guides.slots);
        }
        self.plan.pass(kernel, reads, writes);
    }

    /// Three planes filtered by colour.
    fn smooth(
        &mut self,
        name: &str,
        (mean, variance, channels): (SlotId, SlotId, usize),
        payload: SlotId,
        radius: usize,
    ) -> SlotId {
        let out = self.plan.transient(name, 3);
        let kernel = Nlm {
            channels,
            payload: Some(3),
            ..self.nlm(radius, 1.0)
        };
        self.plan.pass(kernel, [mean, variance, payload], [out]);
        out
    }

    fn blend(&mut self, name: &str, maps: SlotId, made: &[SlotId], planes: usize) -> SlotId {
        let out = self.plan.transient(name, planes);
        self.plan
            .pass(blend(), [maps, made[0], made[1], made[2]], [out]);
        out
    }

    /// The variance of the half difference behind a mean of `n` planes.
    fn two_buffer_variance(&mut self, slot: SlotId, n: usize) -> SlotId {
        let squares = self.plan.transient("squares", n);
        self.plan.pass(square(n), [slot], [squares]);
        separable(&mut self.plan, squares, Filter::Gaussian { sigma: 0.5 }, 2)
    }

    /// Merges up to six slots at a time into one.
    fn join(&mut self, name: &str, takes: &[(SlotId, usize, usize)]) -> SlotId {
        let (now, later) = takes.split_at(takes.len().min(6));
        let planes = now.iter().map(|(_, _, n)| n).sum();
        let out = self.plan.transient(name, planes);
        let planes_of: Vec<_> = now.iter().map(|(_, first, n)| (*first, *n)).collect();
        let reads: Vec<SlotId> = now.iter().map(|(id, _, _)| *id).collect();
        self.plan.pass(join(&planes_of), reads, [out]);
        if later.is_empty() {
            return out;
        }
        let mut more = vec![(out, 0, planes)];
        more.extend_from_slice(later);
        self.join(name, &more)
    }

    /// Planes of a slot as a layer of the result.
    fn write(&mut self, layer: Layer, (slot, first, planes): (SlotId, usize, usize)) {
        let out = self.plan.output(layer, planes);
        let takes = vec![(first, planes)];
        self.plan.pass(join(&takes), [slot], [out]);
    }
}
