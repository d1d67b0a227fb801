//! Procedural textures of the built-in scenes.

use glam::{Vec2, Vec3A};

/// A number in 0 … 1 for a cell of a grid.
pub(super) fn hash(x: i32, y: i32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8DA6_B343) ^ (y as u32).wrapping_mul(0xD816_3841);
    h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
    h = (h ^ (h >> 12)).wrapping_mul(0x297A_2D39);
    (h ^ (h >> 15)) as f32 / u32::MAX as f32
}

/// Smooth noise, 0 … 1.
pub(super) fn noise(p: Vec2) -> f32 {
    let cell = p.floor();
    let f = p - cell;
    let f = f * f * (Vec2::splat(3.0) - 2.0 * f);
    let (x, y) = (cell.x as i32, cell.y as i32);
    let low = hash(x, y) + (hash(x + 1, y) - hash(x, y)) * f.x;
    let high = hash(x, y + 1) + (hash(x + 1, y + 1) - hash(x, y + 1)) * f.x;
    low + (high - low) * f.y
}

/// Noise with four octaves, 0 … 1.
pub(super) fn clouds(p: Vec2) -> f32 {
    (0..4)
        .map(|i| noise(p * (1 << i) as f32 + Vec2::splat(17.0 * i as f32)) * 0.5_f32.powi(i + 1))
        .sum::<f32>()
        / 0.9375
}

fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> Vec3A {
    Vec3A::from(a).lerp(Vec3A::from(b), t.clamp(0.0, 1.0))
}

/// Black and white squares of unit size, a little worn.
pub(super) fn checker(uv: Vec2) -> Vec3A {
    let even = (uv.x.floor() + uv.y.floor()).rem_euclid(2.0) < 0.5;
    let wear = 0.85 + 0.15 * clouds(uv * 3.0);
    if even {
        Vec3A::new(0.72, 0.70, 0.66) * wear
    } else {
        Vec3A::new(0.10, 0.10, 0.11) * wear
    }
}

/// Stone slabs of unit size with joints.
pub(super) fn slabs(uv: Vec2) -> Vec3A {
    let cell = uv.floor();
    let f = uv - cell;
    let edge = f.x.min(f.y).min(1.0 - f.x).min(1.0 - f.y);
    let tone = hash(cell.x as i32, cell.y as i32);
    let stone = mix([0.42, 0.36, 0.29], [0.62, 0.56, 0.47], tone)
        * (0.7 + 0.45 * clouds(uv * 4.0 + Vec2::splat(tone * 40.0)));
    if edge < 0.02 { stone * 0.35 } else { stone }
}

/// Bricks, two units wide and one high.
pub(super) fn bricks(uv: Vec2) -> Vec3A {
    let row = uv.y.floor();
    let x = uv.x * 0.5 + 0.5 * row.rem_euclid(2.0);
    let (fx, fy) = (x - x.floor(), uv.y - row);
    if fx < 0.03 || fy < 0.07 {
        return Vec3A::splat(0.42) * (0.8 + 0.3 * noise(uv * 9.0));
    }
    let tone = hash(x.floor() as i32, row as i32);
    mix([0.45, 0.20, 0.12], [0.62, 0.33, 0.20], tone) * (0.75 + 0.4 * clouds(uv * 5.0))
}

/// Pale marble with veins.
pub(super) fn marble(uv: Vec2) -> Vec3A {
    let wave = (uv.x * 6.0 + uv.y * 2.0 + 7.0 * clouds(uv * 2.5)).sin();
    let vein = (1.0 - wave.abs()).powi(6);
    mix([0.78, 0.75, 0.70], [0.45, 0.40, 0.36], vein)
}

/// Sandstone in courses of unit height.
pub(super) fn sandstone(uv: Vec2) -> Vec3A {
    let f = uv.y - uv.y.floor();
    let tone = hash(uv.y.floor() as i32, 5);
    let stone = mix([0.63, 0.52, 0.38], [0.74, 0.65, 0.50], tone) * (0.8 + 0.3 * clouds(uv * 6.0));
    if f < 0.04 { stone * 0.55 } else { stone }
}

/// Wood with grain along `u`.
pub(super) fn wood(uv: Vec2) -> Vec3A {
    let p = Vec2::new(uv.x * 0.6, uv.y * 6.0);
    let rings = (p.y + 2.5 * clouds(p * Vec2::new(1.0, 0.5))).fract();
    let fine = noise(Vec2::new(uv.x * 8.0, uv.y * 130.0));
    mix([0.30, 0.16, 0.08], [0.50, 0.30, 0.16], rings) * (0.8 + 0.3 * fine)
}

/// Planks of wood, a fifth of a unit wide.
pub(super) fn planks(uv: Vec2) -> Vec3A {
    let plank = (uv.y * 5.0).floor();
    let f = uv.y * 5.0 - plank;
    let shift = hash(plank as i32, 3);
    let x = uv.x * 0.5 + shift;
    let board = wood(uv + Vec2::new(shift * 31.0, shift * 7.0));
    let tone = 0.75 + 0.5 * hash(plank as i32, x.floor() as i32);
    let joint = f < 0.03 || x - x.floor() < 0.004;
    board * if joint { 0.3 } else { tone }
}

/// Cloth with a woven stripe.
pub(super) fn carpet(uv: Vec2) -> Vec3A {
    let p = uv * 4.0;
    let diamond = ((p.x - p.x.round()).abs() + (p.y - p.y.round()).abs() - 0.3).abs();
    let weave = 0.8 + 0.2 * ((uv.x * 260.0).sin() * (uv.y * 260.0).sin());
    let base = if diamond < 0.06 {
        Vec3A::new(0.70, 0.55, 0.25)
    } else {
        Vec3A::new(0.38, 0.06, 0.07)
    };
    base * weave
}

/// Grass and earth.
pub(super) fn meadow(uv: Vec2) -> Vec3A {
    let patch = clouds(uv * 0.35);
    let blades = noise(uv * 40.0);
    let grass = mix([0.10, 0.20, 0.04], [0.28, 0.36, 0.10], blades);
    grass.lerp(
        Vec3A::new(0.34, 0.26, 0.16),
        ((patch - 0.55) * 5.0).clamp(0.0, 0.8),
    )
}

/// The spine of a book. The whole part of `u` is the book's number; the rest runs across the spine, `v` up it.
pub(super) fn spine(uv: Vec2) -> Vec3A {
    let book = uv.x.floor() as i32;
    let u = uv.x - uv.x.floor();
    let v = uv.y;
    let pick = |n: i32| hash(book, n);
    let cover = cover(pick(1));
    let gold = if pick(2) > 0.4 {
        Vec3A::new(0.75, 0.56, 0.22)
    } else {
        Vec3A::new(0.85, 0.82, 0.75)
    };
    let bands = 2 + (pick(3) * 3.0) as i32;
    let at = v * bands as f32;
    let band = (at - at.round()).abs() < 0.035;
    // Letters: little bars, more ink than paper, in a field of the upper half.
    let field = (0.52..0.86).contains(&v) && (0.25..0.75).contains(&u);
    let letter = hash(book * 31 + (v * 46.0) as i32, (u * 9.0) as i32) > 0.45;
    let label = pick(4) > 0.6 && (0.5..0.88).contains(&v);
    let leather = 0.75 + 0.4 * clouds(Vec2::new(u * 6.0 + book as f32, v * 30.0));
    if band || (field && letter) {
        gold
    } else if label {
        cover * 0.4 * leather
    } else {
        cover * leather
    }
}

/// A cover's colour.
fn cover(pick: f32) -> Vec3A {
    const COVERS: [[f32; 3]; 9] = [
        [0.42, 0.05, 0.05],
        [0.06, 0.18, 0.30],
        [0.08, 0.25, 0.12],
        [0.40, 0.24, 0.10],
        [0.55, 0.45, 0.30],
        [0.16, 0.10, 0.22],
        [0.60, 0.25, 0.06],
        [0.07, 0.07, 0.08],
        [0.62, 0.60, 0.55],
    ];
    COVERS[((pick * COVERS.len() as f32) as usize).min(COVERS.len() - 1)].into()
}
