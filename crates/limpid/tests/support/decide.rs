//! Methods that choose the candidate with the lowest estimated error: where two are nearly equal, rounding decides, and no
//! tolerance holds for the consequences. So three things are compared: the estimates; the decisions, which may differ only
//! where the estimates are nearly equal; and the results given the device's own decisions.
//!
//! The estimates of `rdfc` also have a few discontinuities: opposite weights are combined up to a limit of their distance, and
//! rounding decides whether that is reached.

use crate::support::{agree, compare, tolerance};
use limpid::definition::patch::{ERROR_RADIUS, least};
use limpid::definition::rdfc::NEARLY;
use limpid::definition::window::tent;
use limpid::method::{Method, NamedOptions, Rdfc};
use limpid::{Frame, Image, Kind, Layer};

/// Compares the results of a method with its definition.
pub(crate) fn hold(
    (case, name): (&str, &str),
    method: &dyn Method,
    frame: &Frame,
    (expected, got): (&Frame, &Frame),
) {
    match name {
        "rdfc" => rdfc((case, name), method, frame, (expected, got)),
        "reconstruct:patch" => match method.value_of("thesis").as_deref() {
            Some("true") => patch((case, name), (expected, got)),
            _ => mixed((case, name), (expected, got)),
        },
        "nfor" => nfor((case, name), method, (expected, got)),
        _ => compare(case, name, expected, got),
    }
}

/// The share of rdfc's estimates that may be discontinuous.
const COMBINED: f32 = 0.02;

fn light(name: &str) -> Layer {
    Kind::Light(name.into()).into()
}

/// The image of a layer that must be there.
fn of<'a>(frame: &'a Frame, layer: &Layer) -> &'a Image {
    frame
        .get(layer.clone())
        .unwrap_or_else(|| panic!("no layer {layer}"))
}

/// Each pixel has one decision, which differs only where that is permitted.
fn decisions(case: &str, want: &Image, have: &Image, unsure: impl Fn(usize, usize) -> bool) {
    for y in 0..have.height() {
        for x in 0..have.width() {
            let [a, b] = [want, have].map(|i| [0, 1, 2].map(|k| i.get(x, y, k)));
            let single = b.iter().all(|v| *v == 0.0 || *v == 1.0) && b.iter().sum::<f32>() == 1.0;
            assert!(single, "{case}: pixel {x},{y} has the choice {b:?}");
            assert!(
                a == b || unsure(x, y),
                "{case}: pixel {x},{y} has the choice {b:?}, expected {a:?}, and the estimates are not nearly equal"
            );
        }
    }
}

fn rdfc(
    (case, name): (&str, &str),
    method: &dyn Method,
    frame: &Frame,
    (expected, got): (&Frame, &Frame),
) {
    let risks = ["sure-r", "sure-g", "sure-b"].map(light);
    for layer in &risks {
        let (want, have) = (of(expected, layer), of(got, layer));
        agree((case, name), (layer, want, have), COMBINED);
    }
    let jumped = |x: usize, y: usize| {
        risks.iter().any(|layer| {
            let (want, have) = (of(expected, layer), of(got, layer));
            let largest = want.data().iter().fold(1e-3f32, |m, v| m.max(v.abs()));
            let off = (want.get(x, y, 0) - have.get(x, y, 0)).abs();
            off > tolerance::of(name, case) * largest
        })
    };
    let thesis = method.value_of("thesis").as_deref() == Some("true");
    let layer = light("choice");
    let choice = of(got, &layer);
    let mut follows = expected.clone();
    if choice != of(expected, &layer) {
        let mut typed = Rdfc::default();
        for option in method.named_options() {
            if !option.value.is_empty() {
                typed.set(&option.name, &option.value).unwrap();
            }
        }
        let (made, unsure) = typed.define_deciding(frame, Some(choice)).unwrap();
        decisions(case, of(expected, &layer), choice, |x, y| {
            unsure.get(x, y, 0) > 0.0 || jumped(x, y)
        });
        // Without a margin, rounding decides wherever two candidates agree; then few choices may differ in fact.
        let open = match thesis {
            true => {
                let wanted = of(expected, &layer);
                let pairs = wanted.data().iter().zip(choice.data());
                pairs.filter(|(a, b)| a != b).count() / 2
            }
            false => unsure.data().iter().filter(|v| **v > 0.0).count(),
        };
        assert!(
            3 * open <= unsure.data().len().max(100),
            "{case}: {open} pixels are undecided"
        );
        follows = made;
    }
    let own = risks.each_ref().map(|layer| of(got, layer));
    let largest = own
        .iter()
        .flat_map(|i| i.data())
        .fold(0.0f32, |m, v| m.max(v.abs()));
    for y in 0..choice.height() {
        for x in 0..choice.width() {
            // The device's choice follows from its own estimates; whether the slope made the first one win cannot be seen here.
            let e = own.map(|i| i.get(x, y, 0));
            let last_digit = 1e-5 * largest;
            let nearly = if thesis { 0.0 } else { NEARLY };
            let margin = nearly * (e[0].abs() + e[1].abs());
            let right = match [0, 1, 2].map(|k| choice.get(x, y, k)) {
                [1.0, ..] => e[0] < e[1].min(e[2]) - margin + last_digit,
                [_, 1.0, _] => e[1] < e[2] + last_digit,
                _ => e[2] <= e[1] + last_digit,
            };
            assert!(
                right,
                "{case}: pixel {x},{y} has a choice against its risks {e:?}"
            );
        }
    }
    // The estimates were compared above.
    for layer in risks {
        follows.remove(layer);
    }
    compare(case, name, &follows, got);
}

/// Where the shares of the candidates are those of the definition, so are the results. Later fits carry a different share as far
/// as their windows reach.
fn nfor((case, name): (&str, &str), method: &dyn Method, (expected, got): (&Frame, &Frame)) {
    let shares: Vec<Layer> = (expected.layers())
        .map(|(layer, _)| layer.clone())
        .filter(|layer| matches!(&layer.kind, Kind::Light(name) if name.starts_with("choice-")))
        .collect();
    assert!(!shares.is_empty(), "{case}: no shares of candidates");
    let size = expected.size();
    let allowed = tolerance::of(name, case);
    let differs = |x: usize, y: usize| {
        let off = |l: &Layer| (of(expected, l).get(x, y, 0) - of(got, l).get(x, y, 0)).abs();
        shares.iter().any(|layer| off(layer) > allowed)
    };
    let pixels = (0..size.pixels()).map(|i| (i % size.width, i / size.width));
    let other: Vec<(usize, usize)> = pixels.filter(|(x, y)| differs(*x, *y)).collect();
    assert!(
        other.len() <= size.pixels() / 50,
        "{case}: {} pixels have other shares",
        other.len()
    );
    let radius: usize = method
        .value_of("radius")
        .and_then(|r| r.parse().ok())
        .unwrap();
    let near = |x: usize, y: usize| {
        let within = |(i, j): &(usize, usize)| i.abs_diff(x).max(j.abs_diff(y)) <= 4 * radius;
        other.iter().any(within)
    };
    // Far from other shares nothing is free.
    let mut held = got.clone();
    for (layer, want) in expected.layers() {
        if let Some(have) = held.get_mut(layer.clone()) {
            for c in 0..want.channels() {
                for y in 0..size.height {
                    for x in (0..size.width).filter(|x| near(*x, y)) {
                        have.set(x, y, c, want.get(x, y, c));
                    }
                }
            }
        }
    }
    compare(case, name, expected, &held);
}

/// Shares of nearly equal candidates are free; what they amount to is not.
fn mixed((case, name): (&str, &str), (expected, got): (&Frame, &Frame)) {
    let selection = light("selection");
    let (maps, color) = (of(got, &selection), of(got, &Layer::COLOR));
    let candidates = [1, 2, 3].map(|k| of(got, &light(&format!("candidate-{k}"))).clone());
    for y in 0..maps.height() {
        for x in 0..maps.width() {
            let shares = [0, 1, 2].map(|k| maps.get(x, y, k));
            let sum: f32 = shares.iter().sum();
            let good = shares.iter().all(|s| (-1e-6..=1.000_001).contains(s));
            assert!(
                good && (sum - 1.0).abs() < 1e-5,
                "{case}: pixel {x},{y} has the shares {shares:?}"
            );
            for c in 0..color.channels() {
                let one = |k: usize| shares[k] * candidates[k].get(x, y, c);
                let (want, have) = (one(0) + one(1) + one(2), color.get(x, y, c));
                assert!(
                    (want - have).abs() <= 1e-5 * (1.0 + want.abs()),
                    "{case}: pixel {x},{y} plane {c} is {have}, its candidates amount to {want}"
                );
            }
        }
    }
    let named = |what: &str| [1, 2, 3].map(|k| light(&format!("{what}-{k}")));
    for layer in named("candidate").iter().chain(&named("error")) {
        if expected.get(layer.clone()).is_some() {
            agree(
                (case, name),
                (layer, of(expected, layer), of(got, layer)),
                0.0,
            );
        }
    }
    // A share is a quotient of errors and distances: it may differ where errors that are off would change it.
    let errors = named("error").map(|layer| expected.get(layer).cloned());
    let largest = |i: &Image| i.data().iter().fold(1e-3f32, |m, v| m.max(v.abs()));
    let off = errors.iter().flatten().map(largest).fold(0.0, f32::max);
    let off = tolerance::of(name, case) * off;
    let wanted = of(expected, &selection);
    for other in 1..3 {
        let distance = Image::from_fn(maps.width(), maps.height(), 1, |x, y, _| {
            let one = |c| (candidates[other].get(x, y, c) - candidates[0].get(x, y, c)).powi(2);
            (0..color.channels()).map(one).sum()
        });
        let distance = tent(&distance, ERROR_RADIUS, 1.0, 0.0);
        for (i, apart) in distance.data().iter().enumerate() {
            let (want, have) = (wanted.plane(other)[i], maps.plane(other)[i]);
            let allowed = 0.05 + 4.0 * off / apart.max(1e-12);
            assert!(
                (want - have).abs() <= allowed,
                "{case}: value {i} of candidate {other} has the share {have}, expected {want} within {allowed}"
            );
        }
    }
}

fn patch((case, name): (&str, &str), (expected, got): (&Frame, &Frame)) {
    let named = |what: &str| [1, 2, 3].map(|k| light(&format!("{what}-{k}")));
    for layer in named("candidate").iter().chain(&named("error")) {
        let (want, have) = (of(expected, layer), of(got, layer));
        agree((case, name), (layer, want, have), 0.0);
    }
    let errors = |frame: &Frame| named("error").map(|l| of(frame, &l).clone());
    let (wanted, own) = (errors(expected), errors(got));
    // All candidates that can be chosen if errors are off by this much.
    let reached = |e: [f32; 3], off: f32| -> Vec<usize> {
        let sign = |bits: usize, k: usize| if bits >> k & 1 == 1 { off } else { -off };
        let moved = |bits| least([0, 1, 2].map(|k| e[k] + sign(bits, k)));
        (0..8).map(moved).chain([least(e)]).collect()
    };
    let at = |images: &[Image; 3], x, y| [0, 1, 2].map(|k| images[k].get(x, y, 0));
    let selection = light("selection");
    let have = of(got, &selection);
    let largest = |i: &Image| i.data().iter().fold(1e-3f32, |m, v| m.max(v.abs()));
    let off = tolerance::of(name, case) * wanted.iter().map(largest).fold(0.0, f32::max);
    decisions(case, of(expected, &selection), have, |x, y| {
        let all = reached(at(&wanted, x, y), off);
        all.iter().any(|k| *k != all[8])
    });
    let candidates = named("candidate").map(|l| of(got, &l).clone());
    let color = of(got, &Layer::COLOR);
    for y in 0..have.height() {
        for x in 0..have.width() {
            let taken = [0, 1, 2].map(|k| have.get(x, y, k));
            let taken = taken.iter().position(|v| *v == 1.0).unwrap();
            let e = at(&own, x, y);
            let last_digit = 1e-5 * e.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            assert!(
                reached(e, last_digit).contains(&taken),
                "{case}: pixel {x},{y} takes candidate {taken} of errors {e:?}"
            );
            for c in 0..color.channels() {
                let (want, have) = (candidates[taken].get(x, y, c), color.get(x, y, c));
                assert!(
                    want == have,
                    "{case}: pixel {x},{y} plane {c} is {have}, its candidate {taken} {want}"
                );
            }
        }
    }
}
