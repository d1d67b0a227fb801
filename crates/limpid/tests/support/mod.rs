//! Frames to test with, and the comparison of results.

pub(crate) mod tolerance;

use limpid::{Frame, Image, Kind, Layer, Part, Size};

/// A frame with all layers: a few surfaces with edges between them, textured albedo, and noise.
pub(crate) fn frame(size: Size) -> Frame {
    let mut random = Random(0x9e37_79b9 ^ (size.width as u64) << 20 ^ size.height as u64);
    let (w, h) = (size.width, size.height);
    let surface = |x: usize, y: usize| (x * 3 / w.max(3) + 2 * (y * 2 / h.max(2))) as f32;
    let albedo = Image::from_fn(w, h, 3, |x, y, c| {
        0.2 + 0.1 * (((x / 3 + y / 2) % 5 + c) as f32)
    });
    let clean = Image::from_fn(w, h, 3, |x, y, c| {
        albedo.get(x, y, c) * (0.4 + 0.3 * surface(x, y) + 0.01 * x as f32)
    });
    let mut noisy = |base: &Image, amount: f32| base.map(|v| v * (1.0 + amount * random.next()));
    let (a, b) = (noisy(&clean, 0.5), noisy(&clean, 0.5));
    let normal = Image::from_fn(w, h, 3, |x, y, c| {
        let t = 0.7 * surface(x, y) + 0.004 * y as f32;
        [t.cos(), 0.6 * t.sin(), 0.8 * t.sin()][c]
    });
    let depth = Image::from_fn(w, h, 1, |x, y, _| {
        2.0 + surface(x, y) + 0.02 * (x + y) as f32
    });
    let position = Image::from_fn(w, h, 3, |x, y, c| {
        [0.05 * x as f32, 0.05 * y as f32, depth.get(x, y, 0)][c]
    });
    let mean = |a: &Image, b: &Image| {
        Image::from_fn(w, h, a.channels(), |x, y, c| {
            0.5 * (a.get(x, y, c) + b.get(x, y, c))
        })
    };
    let variance = |a: &Image, b: &Image| {
        Image::from_fn(w, h, a.channels(), |x, y, c| {
            (0.5 * (a.get(x, y, c) - b.get(x, y, c))).powi(2)
        })
    };
    let color = mean(&a, &b);
    let mut frame = Frame::new(color.clone()).unwrap();
    let mut add =
        |kind: Kind, part: Part, image: Image| frame.insert(Layer::new(kind, part), image).unwrap();
    add(Kind::Color, Part::Variance, variance(&a, &b));
    add(Kind::Color, Part::HalfA, a);
    add(Kind::Color, Part::HalfB, b);
    for (kind, base) in [
        (Kind::Albedo, &albedo),
        (Kind::Normal, &normal),
        (Kind::Position, &position),
        (Kind::Depth, &depth),
    ] {
        let (a, b) = (noisy(base, 0.02), noisy(base, 0.02));
        add(kind.clone(), Part::Variance, variance(&a, &b));
        add(kind.clone(), Part::Mean, mean(&a, &b));
        add(kind.clone(), Part::HalfA, a);
        add(kind, Part::HalfB, b);
    }
    add(
        Kind::Visibility,
        Part::Mean,
        Image::from_fn(w, h, 1, |x, y, _| f32::from(u8::from((x / 4 + y) % 3 > 0))),
    );
    add(
        Kind::Alpha,
        Part::Mean,
        Image::from_fn(w, h, 1, |x, _, _| if x % 7 == 0 { 0.5 } else { 1.0 }),
    );
    add(
        Kind::Motion,
        Part::Mean,
        Image::from_fn(w, h, 2, |x, y, c| [0.5, -0.25][c] + 0.01 * (x + y) as f32),
    );
    add(
        Kind::Id,
        Part::Mean,
        Image::from_fn(w, h, 1, |x, y, _| surface(x, y)),
    );
    // Differences with independent noise, so that no image fits them.
    let mut step = |dx: usize, dy: usize| {
        Image::from_fn(w, h, 3, |x, y, c| {
            let next = clean.get((x + dx).min(w - 1), (y + dy).min(h - 1), c);
            next - clean.get(x, y, c) + 0.1 * random.next()
        })
    };
    for (kind, dx, dy) in [(Kind::Dx, 1, 0), (Kind::Dy, 0, 1)] {
        let (a, b) = (step(dx, dy), step(dx, dy));
        add(kind.clone(), Part::Mean, mean(&a, &b));
        add(kind.clone(), Part::HalfA, a);
        add(kind, Part::HalfB, b);
    }
    frame
}

/// The frame with what real files have: sky, which is far away and whose normals and albedo are zero, a black corner, and light
/// over ten stops.
pub(crate) fn real_frame(size: Size) -> Frame {
    let mut frame = frame(size);
    let (w, h) = (size.width, size.height);
    let sky = |x: usize, y: usize| 3 * y < h && 2 * x > w;
    let black = |x: usize, y: usize| 3 * (h - 1 - y) < h && 4 * x < w;
    // From 1/32 at the left to 32 at the right.
    let stops = |x: usize| 2f32.powf(10.0 * x as f32 / w as f32 - 5.0);
    let layers: Vec<Layer> = frame.layers().map(|(layer, _)| layer.clone()).collect();
    for layer in layers {
        let image = frame.get(layer.clone()).unwrap().clone();
        let varies = layer.part == Part::Variance;
        let made = Image::from_fn(w, h, image.channels(), |x, y, c| {
            let v = image.get(x, y, c);
            match layer.kind {
                Kind::Color | Kind::Dx | Kind::Dy if black(x, y) => 0.0,
                Kind::Color | Kind::Dx | Kind::Dy if varies => v * stops(x) * stops(x),
                Kind::Color | Kind::Dx | Kind::Dy => v * stops(x),
                Kind::Depth if sky(x, y) && !varies => 1e4,
                Kind::Albedo | Kind::Normal | Kind::Position | Kind::Alpha | Kind::Depth
                    if sky(x, y) =>
                {
                    0.0
                }
                _ => v,
            }
        });
        frame.insert(layer, made).unwrap();
    }
    frame
}

/// The frame with colour of one channel, as files of one light have it.
pub(crate) fn grey_frame(size: Size) -> Frame {
    let mut frame = frame(size);
    let layers: Vec<Layer> = frame.layers().map(|(layer, _)| layer.clone()).collect();
    for layer in layers {
        if matches!(layer.kind, Kind::Color | Kind::Dx | Kind::Dy) {
            let image = frame.get(layer.clone()).unwrap();
            let (w, h) = (size.width, size.height);
            let one = Image::from_planes(w, h, 1, image.plane(1).to_vec()).unwrap();
            frame.insert(layer, one).unwrap();
        }
    }
    frame
}

/// A small generator: uniform in -1 … 1.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// All layers of the expected frame must exist and agree within the method's tolerance.
pub(crate) fn compare(name: &str, method: &str, expected: &Frame, got: &Frame) {
    let jumps = tolerance::jumps(method);
    for (layer, want) in expected.layers() {
        let have = got
            .get(layer.clone())
            .unwrap_or_else(|| panic!("{name}: no layer {layer}"));
        agree((name, method), (layer, want, have), jumps);
    }
}

/// Two images agree within the method's tolerance, except for a share of the values.
pub(crate) fn agree(
    (name, method): (&str, &str),
    (layer, want, have): (&Layer, &Image, &Image),
    jumps: f32,
) {
    let allowed = tolerance::of(method, name);
    let shape = |i: &Image| (i.size(), i.channels());
    assert_eq!(shape(want), shape(have), "{name}, layer {layer}");
    let scale = want.data().iter().fold(1e-3f32, |m, v| m.max(v.abs()));
    let far = |i: usize| {
        let d = (want.data()[i] - have.data()[i]).abs();
        if d.is_finite() { d } else { f32::INFINITY }
    };
    let count = want.data().len();
    let beyond = (0..count).filter(|i| far(*i) > allowed * scale).count();
    let worst = (0..count).max_by(|i, j| far(*i).total_cmp(&far(*j)));
    let Some(worst) = worst else { return };
    if beyond as f32 <= jumps * count as f32 && far(worst).is_finite() {
        return;
    }
    let Size { width, height } = want.size();
    let (x, y, plane) = (
        worst % width,
        worst / width % height,
        worst / width / height,
    );
    let folder = write(name, want, have);
    panic!(
        "{name}, layer {layer}: {beyond} of {count} values are off by more than {allowed} of {scale}; the worst is pixel {x},{y} \
         plane {plane}: expected {}, got {}; see {folder}",
        want.data()[worst],
        have.data()[worst],
    );
}

/// Writes both images and their difference as portable float maps.
fn write(name: &str, want: &Image, have: &Image) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    // File systems support 255 bytes; the end contains schedule, device and size.
    let plain = &plain[plain.len().saturating_sub(200)..];
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("conformance")
        .join(plain);
    std::fs::create_dir_all(&folder).unwrap();
    let mut off = want.clone();
    for (o, h) in off.data_mut().iter_mut().zip(have.data()) {
        *o = (*o - h).abs();
    }
    for (file, image) in [("expected", want), ("got", have), ("difference", &off)] {
        let mut bytes = format!("Pf\n{} {}\n-1\n", image.width(), image.height()).into_bytes();
        for y in (0..image.height()).rev() {
            bytes.extend(image.row(0, y).iter().flat_map(|v| v.to_le_bytes()));
        }
        std::fs::write(folder.join(file).with_extension("pfm"), bytes).unwrap();
    }
    folder.display().to_string()
}
