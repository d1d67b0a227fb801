use super::*;
use crate::random::Random;

/// Materials wide enough for a grid over the hemisphere.
fn wide() -> Vec<Bsdf> {
    let color = Vec3A::new(0.9, 0.6, 0.3);
    vec![
        Bsdf::Diffuse { albedo: color },
        Bsdf::Rough { color, alpha: 0.2 },
        Bsdf::Rough { color, alpha: 0.7 },
        Bsdf::Coated {
            albedo: color,
            alpha: 0.25,
        },
    ]
}

fn viewers() -> [Vec3A; 3] {
    [
        Vec3A::Z,
        Vec3A::new(0.6, 0.3, 0.7).normalize(),
        Vec3A::new(-0.9, 0.2, 0.25).normalize(),
    ]
}

/// The integral of a function of direction over the upper hemisphere, by the midpoint rule.
fn integrate(f: impl Fn(Vec3A) -> Vec3A) -> Vec3A {
    let (rows, columns) = (256, 512);
    let mut sum = Vec3A::ZERO;
    for i in 0..rows {
        // Even in the angle, which gives grazing directions their due.
        let theta = (i as f32 + 0.5) / rows as f32 * PI / 2.0;
        let (sin, cos) = theta.sin_cos();
        let mut row = Vec3A::ZERO;
        for j in 0..columns {
            let (s, c) = ((j as f32 + 0.5) / columns as f32 * 2.0 * PI).sin_cos();
            row += f(Vec3A::new(sin * c, sin * s, cos));
        }
        sum += row * sin;
    }
    sum * (PI / 2.0 / rows as f32) * (2.0 * PI / columns as f32)
}

#[test]
fn samples_follow_the_density() {
    for bsdf in wide() {
        for wo in viewers() {
            let n = 40_000;
            let (mut moments, mut count) = (Vec3A::ZERO, 0);
            for i in 0..n {
                let mut r = Random::new(1, 0, i, 0);
                if let Some(s) = bsdf.sample(wo, r.two(), r.one()) {
                    count += 1;
                    moments += Vec3A::new(s.wi.x, s.wi.z, s.wi.x * s.wi.y);
                }
            }
            let total = integrate(|wi| Vec3A::splat(bsdf.eval(wo, wi).1)).x;
            let kept = count as f32 / n as f32;
            assert!(
                (total - kept).abs() < 0.012,
                "{bsdf:?} {wo}: {total} {kept}"
            );
            let expected =
                integrate(|wi| Vec3A::new(wi.x, wi.z, wi.x * wi.y) * bsdf.eval(wo, wi).1);
            let error = (moments / n as f32 - expected).abs().max_element();
            // Five standard deviations of a mean of numbers within -1 … 1 are 0.02 at most.
            assert!(error < 0.02, "{bsdf:?} {wo}: {error}");
        }
    }
}

#[test]
fn energy_matches_the_integral() {
    for bsdf in wide() {
        for wo in viewers() {
            let n = 40_000;
            let mut sum = Vec3A::ZERO;
            for i in 0..n {
                let mut r = Random::new(2, 0, i, 0);
                if let Some(s) = bsdf.sample(wo, r.two(), r.one()) {
                    sum += s.value / s.pdf;
                }
            }
            let sampled = sum / n as f32;
            let exact = integrate(|wi| bsdf.eval(wo, wi).0);
            let error = (sampled - exact).abs().max_element();
            assert!(error < 0.015, "{bsdf:?} {wo}: {sampled} {exact}");
            assert!(
                exact.max_element() <= 1.001,
                "{bsdf:?} makes light: {exact}"
            );
            if let Bsdf::Diffuse { albedo } = bsdf {
                assert!((exact - albedo).abs().max_element() < 1e-3);
            }
        }
    }
}

#[test]
fn light_may_go_either_way() {
    let (a, b) = (viewers()[1], viewers()[2]);
    for bsdf in wide() {
        let (there, back) = (bsdf.eval(a, b).0 / b.z, bsdf.eval(b, a).0 / a.z);
        assert!((there - back).abs().max_element() < 1e-4 * there.max_element());
    }
}

#[test]
fn sampled_values_are_the_evaluated_ones() {
    let narrow = Bsdf::Rough {
        color: Vec3A::ONE,
        alpha: 0.01,
    };
    for bsdf in wide().into_iter().chain([narrow]) {
        for i in 0..200 {
            let mut r = Random::new(3, 0, i, 0);
            if let Some(s) = bsdf.sample(viewers()[1], r.two(), r.one()) {
                let (value, pdf) = bsdf.eval(viewers()[1], s.wi);
                assert_eq!((value, pdf), (s.value, s.pdf));
                assert!(value.is_finite() && pdf.is_finite());
            }
        }
    }
}

#[test]
fn glass_splits_light() {
    let color = Vec3A::ONE;
    for eta in [1.5, 1.0 / 1.5] {
        let glass = Bsdf::Glass { color, eta };
        for wo in viewers() {
            let reflected = glass.delta(wo, false);
            let through = glass.delta(wo, true);
            let sum: f32 = [reflected, through].iter().flatten().map(|s| s.pdf).sum();
            assert!((sum - 1.0).abs() < 1e-6);
            if let Some(t) = through {
                // Snell's law.
                let (i, o) = (wo.xy().length(), t.wi.xy().length());
                assert!((i - eta * o).abs() < 1e-5 && t.wi.z < 0.0);
                assert!((t.wi.length() - 1.0).abs() < 1e-5);
            } else {
                assert!(eta < 1.0 && wo.xy().length() > eta);
            }
        }
        assert!((fresnel(1.0, eta) - 0.04).abs() < 1e-6);
        let mirror = Bsdf::Mirror { color };
        assert!(mirror.delta(Vec3A::Z, true).is_none());
    }
}
