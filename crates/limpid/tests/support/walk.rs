//! A sequence to test with.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid::{Frame, Image, Kind, Size};

/// A camera that moves along a wall with a step in it, with nothing behind on the right; noisy light.
pub(crate) fn sequence(size: Size, count: usize) -> Vec<Frame> {
    let (w, h) = (size.width, size.height);
    let mut state = 7u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..count)
        .map(|t| {
            let wall = |x: usize| (x + t) / 7 % 2;
            let empty = |x: usize| x + 2 > w && w > 4;
            let color = Image::from_fn(w, h, 3, |x, y, c| {
                (0.3 + 0.4 * wall(x) as f32 + 0.1 * ((y + c) % 3) as f32) * (0.5 + noise())
            });
            let mut frame = Frame::new(color).unwrap();
            let mut add = |kind: Kind, channels: usize, f: &dyn Fn(usize, usize, usize) -> f32| {
                let image = Image::from_fn(w, h, channels, f);
                frame.insert(kind, image).unwrap();
            };
            add(Kind::Albedo, 3, &|x, y, c| {
                0.2 + 0.2 * ((x + t + y + c) % 3) as f32
            });
            add(Kind::Normal, 3, &|x, _, c| match empty(x) {
                true => 0.0,
                false => [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]][wall(x)][c],
            });
            add(Kind::Depth, 1, &|x, y, _| match empty(x) {
                true => 0.0,
                false => 3.0 + wall(x) as f32 + 0.01 * y as f32,
            });
            add(Kind::Position, 3, &|x, y, c| {
                [0.1 * (x + t) as f32, 0.1 * y as f32, 3.0 + wall(x) as f32][c]
            });
            add(Kind::Id, 1, &|x, _, _| wall(x) as f32);
            add(Kind::Motion, 2, &|_, y, c| [1.0, 0.02 * (y % 5) as f32][c]);
            let share = |x: usize| 0.25 + 0.5 * wall(x) as f32;
            add(Kind::Alpha, 1, &|x, y, _| ((x + y) % 4) as f32 / 3.0);
            let color = frame.color().unwrap().clone();
            for (name, part) in [("key", 1.0), ("fill", 0.0f32)] {
                let light = Image::from_fn(w, h, 3, |x, y, c| {
                    color.get(x, y, c) * (part - share(x)).abs()
                });
                frame.insert(Kind::Light(name.into()), light).unwrap();
            }
            frame
        })
        .collect()
}
