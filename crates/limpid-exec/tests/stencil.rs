//! Both bodies of a stencil compute what its description says.

use limpid_core::{Frame, Image, Kind, Layer, Part, Result, Size};
use limpid_exec::{Device, Watch};
use limpid_plan::stencil::{Stencil, stencil};
use limpid_plan::{Kernel, PassSlots, Plan, Role, Slot, Target};

/// Uses every operation, with reads in all directions; the second slot is written plane by plane, the third is updated.
fn everything(gain: f32) -> Stencil {
    stencil("everything", |k| {
        let [a, b] = k.reads();
        let (here, gain) = (a.here(), k.param(gain));
        let slope = (a.at(2, -1) - a.at(-2, 1)) * k.inside(-2, 0).pick(0.5, 1.0);
        let corner = k.inside(-1, 0) & k.inside(0, -1) | !k.inside(1, 1);
        let side = b.plane(1).at(-1, 0).min(b.plane(0).at(1, 2)).max(-0.25);
        let weight = (-(slope.squared()).abs()).exp() / 2.0;
        k.write((here.lt(side) & corner).pick(weight * gain, 3.0 - here.sqrt()));
        let field = k
            .odd(2)
            .pick((side.abs() + 0.5).ln(), side.ge(0.2).number());
        k.write_planes([side, b.plane(0).here(), (!side.lt(0.1)).number() + field]);
        k.update(|old| old + gain * b.planes_from(1).here());
    })
}

fn expected(gain: f32, [a, b]: [&Image; 2]) -> [Image; 3] {
    let (w, h) = (a.width(), a.height());
    let at = |i: &Image, x: usize, y: usize, [dx, dy]: [i32; 2], c: usize| {
        let x = (x as i32 + dx).clamp(0, w as i32 - 1) as usize;
        let y = (y as i32 + dy).clamp(0, h as i32 - 1) as usize;
        i.get(x, y, c)
    };
    let side = |x, y| {
        at(b, x, y, [-1, 0], 1)
            .min(at(b, x, y, [1, 2], 0))
            .max(-0.25)
    };
    let first = Image::from_fn(w, h, 2, |x, y, c| {
        let here = a.get(x, y, c);
        let half = if x >= 2 { 0.5 } else { 1.0 };
        let slope = (at(a, x, y, [2, -1], c) - at(a, x, y, [-2, 1], c)) * half;
        let corner = x > 0 && y > 0 || x + 1 == w || y + 1 == h;
        if here < side(x, y) && corner {
            (-slope * slope).exp() / 2.0 * gain
        } else {
            3.0 - here.sqrt()
        }
    });
    let least = |x, y, least| f32::from(u8::from(side(x, y) >= least));
    let second = Image::from_fn(w, h, 3, |x, y, c| match c {
        0 => side(x, y),
        1 => b.get(x, y, 0),
        _ if (x / 2 + y / 2) % 2 == 1 => least(x, y, 0.1) + (side(x, y).abs() + 0.5).ln(),
        _ => least(x, y, 0.1) + least(x, y, 0.2),
    });
    let third = Image::from_fn(w, h, 2, |x, y, c| gain * b.get(x, y, c + 1));
    [first, second, third]
}

#[test]
fn both_bodies_are_what_was_said() -> Result<()> {
    let kernel = everything(1.5);
    let contract = kernel.contract();
    assert_eq!((contract.reads, contract.writes), (2, 3));
    assert_eq!(contract.reach, Some(2));
    assert!(contract.updates);
    assert_eq!(format!("{kernel:?}"), "everything[1.5]");
    // Layers of two, three and two planes.
    let layer = |k: usize| match k {
        0 => Layer::from(Kind::Motion),
        1 => Layer::from(Kind::Albedo),
        _ => Layer::new(Kind::Motion, Part::Variance),
    };
    for (w, h) in [
        (1, 1),
        (1, 7),
        (5, 1),
        (3, 4),
        (31, 9),
        (256, 3),
        (517, 6),
        (2100, 2),
    ] {
        let size = Size::new(w, h);
        let noise = |seed: usize, planes| {
            Image::from_fn(w, h, planes, |x, y, c| {
                ((x * 7 + y * 13 + c * 29 + seed) % 31) as f32 / 31.0
            })
        };
        let (a, b) = (noise(0, 2), noise(5, 3));
        let mut frame = Frame::empty(size)?;
        frame.insert(layer(0), a.clone())?;
        frame.insert(layer(1), b.clone())?;
        let mut plan = Plan::new("test", size);
        let reads = [plan.input(layer(0), 2), plan.input(layer(1), 3)];
        let writes = [(0, 2), (1, 3), (2, 2)].map(|(k, planes)| plan.output(layer(k), planes));
        // All are zero before.
        let zero = stencil("zero", |k| {
            let _ = k.read();
            k.write(0.0);
        });
        for write in writes {
            plan.pass(zero.clone(), [reads[0]], [write]);
        }
        plan.pass(kernel.clone(), reads, writes);
        let want = expected(1.5, [&a, &b]);
        for device in Device::all_for_tests()? {
            let mut out = Frame::empty(size)?;
            for (k, image) in want.iter().enumerate() {
                out.insert(layer(k), Image::new(w, h, image.channels()))?;
            }
            let watch = Watch::default();
            device.runner(plan.clone())?.run(&frame, &mut out, &watch)?;
            for (k, want) in want.iter().enumerate() {
                let got = out.require(layer(k))?;
                for (i, (g, w)) in got.data().iter().zip(want.data()).enumerate() {
                    let name = device.name();
                    assert!(
                        (g - w).abs() < 2e-6,
                        "{name} {size}: slot {k} at {i}: {g} {w}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn parameters_are_not_part_of_the_text() -> Result<()> {
    let slot = Slot::new("s", Role::Transient, Size::new(4, 4), 3);
    let pass = PassSlots {
        target: Target::BASE,
        reads: vec![&slot; 2],
        writes: vec![&slot; 3],
    };
    let (one, other) = (everything(1.0).gpu(&pass)?, everything(7.0).gpu(&pass)?);
    assert_eq!(one.source(), other.source());
    assert_ne!(one.params(), other.params());
    Ok(())
}
