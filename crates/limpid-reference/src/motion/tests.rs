use super::Surfaces;
use limpid_core::{Frame, Image, Kind};

const SIZE: [usize; 2] = [160, 96];

/// Fine texture, the same at the same place.
fn texture(x: f32, y: f32) -> f32 {
    let wave = |a: f32, b: f32| (a * x + b * y).sin();
    0.5 + 0.12 * (wave(0.9, 0.31) + wave(-0.37, 0.83) + wave(0.53, 0.61) + wave(0.11, -0.23))
}

/// A frame in which a pixel shows a place of a surface (None: a wall without texture) in a depth.
fn frame(seen: impl Fn(f32, f32) -> (Option<[f32; 2]>, f32)) -> Surfaces {
    let [width, height] = SIZE;
    let at = |x: usize, y: usize| seen(x as f32, y as f32);
    let mut frame = Frame::new(Image::new(width, height, 3)).unwrap();
    let albedo = Image::from_fn(width, height, 3, |x, y, c| match at(x, y).0 {
        Some([u, v]) => texture(u + 7.0 * c as f32, v),
        None => 0.6,
    });
    let depth = Image::from_fn(width, height, 1, |x, y, _| at(x, y).1);
    frame.insert(Kind::Albedo, albedo).unwrap();
    frame.insert(Kind::Depth, depth).unwrap();
    Surfaces::of(&frame)
}

/// The largest distance from the true motion, of pixels that count.
fn furthest(motion: &Image, truth: impl Fn(usize, usize) -> Option<[f32; 2]>) -> f32 {
    let (mut most, mut worst) = (0f32, [0, 0]);
    for y in 0..SIZE[1] {
        for x in 0..SIZE[0] {
            if let Some([dx, dy]) = truth(x, y) {
                let off = (motion.get(x, y, 0) - dx).hypot(motion.get(x, y, 1) - dy);
                if off > most {
                    (most, worst) = (off, [x, y]);
                }
            }
        }
    }
    println!("the furthest at {worst:?}");
    most
}

/// The camera turns by parts of a pixel; a wall without texture follows what is around it.
#[test]
fn a_turning_camera_moves_everything() {
    let (dx, dy) = (6.3, -2.6);
    let blank = |x: f32, y: f32| x > 60.0 && x < 90.0 && y > 30.0 && y < 60.0;
    let at = |shift: f32| {
        move |x: f32, y: f32| {
            let place = [x + shift * dx, y + shift * dy];
            (Some(place).filter(|p| !blank(p[0], p[1])), 5.0)
        }
    };
    // What is at x was at x + dx: the frame before shows it further right.
    let motion = frame(at(-1.0)).motion_to(&frame(at(0.0)));
    let inside = |x: usize, y: usize| (x < 148 && y > 8 && y < 88).then_some([dx, dy]);
    let off = furthest(&motion, inside);
    // The edge of the blank wall is not antialiased.
    assert!(off < 0.5, "{off}");
}

/// The camera moves sideways: near things move more, and so does a near wall without texture.
#[test]
fn near_things_move_more() {
    let near = |y: f32| y > 48.0;
    let depth = |y: f32| if near(y) { 2.0 } else { 8.0 };
    let blank = |x: f32, y: f32| y > 60.0 && y < 84.0 && x > 50.0 && x < 80.0;
    let at = |t: f32| {
        move |x: f32, y: f32| {
            let u = x + t * 16.0 / depth(y);
            (Some([u, y]).filter(|p| !blank(p[0], p[1])), depth(y))
        }
    };
    let motion = frame(at(-1.0)).motion_to(&frame(at(0.0)));
    let off = furthest(&motion, |x, y| {
        let edge = (44..53).contains(&y);
        (x > 12 && x < 144 && !edge).then_some([16.0 / depth(y as f32), 0.0])
    });
    assert!(off < 0.4, "{off}");
}

/// A thing moves before a background that stands still.
#[test]
fn things_move_by_themselves() {
    let inside = |x: f32, y: f32, left: f32| x > left && x < left + 40.0 && y > 30.0 && y < 70.0;
    let at = |left: f32| {
        move |x: f32, y: f32| match inside(x, y, left) {
            true => (Some([x - left + 300.0, y]), 2.0),
            false => (Some([x, y]), 6.0),
        }
    };
    let motion = frame(at(50.0)).motion_to(&frame(at(57.0)));
    let off = furthest(&motion, |x, y| {
        let (u, v) = (x as f32, y as f32);
        if u > 60.0 && u < 94.0 && v > 33.0 && v < 67.0 {
            return Some([-7.0, 0.0]);
        }
        // What was hidden before has no motion.
        let apart = !(u > 46.0 && u < 101.0 && v > 26.0 && v < 74.0);
        apart.then_some([0.0, 0.0])
    });
    assert!(off < 0.3, "{off}");
}

/// Nothing to find, and frames that do not fit.
#[test]
fn odd_frames_have_motion_too() {
    let small = |w: usize, h: usize| Surfaces::of(&Frame::new(Image::new(w, h, 3)).unwrap());
    for (w, h) in [(1, 1), (1, 90), (3, 5), (64, 64)] {
        let motion = small(w, h).motion_to(&small(w, h));
        assert_eq!(
            (motion.width(), motion.height(), motion.channels()),
            (w, h, 2)
        );
        assert!(motion.data().iter().all(|v| *v == 0.0), "{w}x{h}");
    }
    let other = small(8, 8).motion_to(&small(9, 8));
    assert_eq!((other.width(), other.magnitude()), (9, 0.0));
}
