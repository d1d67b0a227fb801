//! EXR files: which layers are recognised.

use crate::*;

#[test]
fn mitsuba_layers_are_recognised() {
    let (_folder, path) = scratch("a.exr");
    let n = 6 * 5;
    let mut channels: Vec<_> = ["B", "G", "R"].map(|c| half(c, n, 1)).into();
    for layer in ["albedo", "b"] {
        channels.extend(["R", "G", "B"].map(|c| half(&format!("{layer}.{c}"), n, 2)));
    }
    for layer in ["normal", "position"] {
        channels.extend(["X", "Y", "Z"].map(|c| half(&format!("{layer}.{c}"), n, 3)));
    }
    channels.extend(["R", "G", "B"].map(|c| float(&format!("variance.{c}"), n, 4)));
    channels.push(float("depth.Z", n, 5));
    save(&path, (6, 5), vec![part(None, (6, 5), channels)]);
    let picture = read(&path);
    assert_eq!(
        names(&picture.frame),
        [
            "color",
            "color.a",
            "color.b",
            "color.variance",
            "albedo",
            "normal",
            "position",
            "depth"
        ]
    );
    // Two buffers with equal numbers of samples: the colour is their mean, with half the variance.
    let half = |part| picture.frame.get(Layer::new(Kind::Color, part)).unwrap();
    let color = picture.frame.color().unwrap();
    let (a, b) = (half(Part::HalfA), half(Part::HalfB));
    assert_ne!(a, b);
    for ((c, a), b) in color.data().iter().zip(a.data()).zip(b.data()) {
        assert_eq!(*c, 0.5 * (a + b));
    }
    let again = read(&path);
    assert!(again.notes.is_empty(), "{:?}", again.notes);
    // A frame written with its buffers is read back the same; a result keeps neither buffers nor variance.
    let (_folder, copy) = scratch("copy.exr");
    let options = WriteOptions::default();
    io::write(&copy, &picture.frame, Some(&picture.origin), &options).unwrap();
    assert_eq!(read(&copy).frame, picture.frame);
    let result = Frame::new(color.map(|v| 0.5 * v)).unwrap();
    io::write(&copy, &result, Some(&picture.origin), &options).unwrap();
    let kept = read(&copy).frame;
    assert_eq!(
        names(&kept),
        ["color", "albedo", "normal", "position", "depth"]
    );
    assert_eq!(kept.color().unwrap().data()[7], 0.5 * color.data()[7]);
}

#[test]
fn blender_parts_are_recognised() {
    let (_folder, path) = scratch("a.exr");
    let size = (8, 4);
    let n = 32;
    let blender = |name: &str, letters: &[&str]| {
        let name = format!("ViewLayer.{name}");
        let channels = letters.iter().enumerate();
        let channels = channels.map(|(i, c)| float(&format!("{name}.{c}"), n, i));
        part(Some(&name), size, channels.collect())
    };
    save(
        &path,
        size,
        vec![
            blender("Combined", &["A", "B", "G", "R"]),
            blender("Depth", &["Z"]),
            blender("Normal", &["X", "Y", "Z"]),
            blender("Denoising Normal", &["X", "Y", "Z"]),
            blender("Denoising Albedo", &["B", "G", "R"]),
            blender("Vector", &["W", "X", "Y", "Z"]),
            blender("DiffDir", &["B", "G", "R"]),
            blender("CryptoObject00", &["a", "b", "g", "r"]),
        ],
    );
    let picture = read(&path);
    let frame = &picture.frame;
    assert_eq!(
        names(frame),
        [
            "color",
            "alpha",
            "albedo",
            "normal",
            "depth",
            "motion",
            "light:DiffDir"
        ]
    );
    // R is the fourth channel by name, hence seed 3.
    assert_eq!(frame.color().unwrap().get(2, 0, 0), ramp(3)(2) + 1e-5);
    // Blender's motion points up, ours down.
    let motion = frame.get(Kind::Motion).unwrap();
    assert_eq!(motion.get(2, 0, 0), ramp(1)(2) + 1e-5);
    assert_eq!(motion.get(2, 0, 1), -(ramp(2)(2) + 1e-5));

    // Written back: all parts, channels and values are the same.
    let (_other, out) = scratch("b.exr");
    write(&out, frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);
}

#[test]
fn layers_are_taken_by_the_names_that_are_asked_for() {
    let (_folder, path) = scratch("a.exr");
    let n = 12;
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(["x", "y", "z"].map(|c| half(&format!("odd.{c}"), n, 2)));
    channels.extend([half("n1", n, 5), half("n2", n, 6), half("n3", n, 7)]);
    save(&path, (4, 3), vec![part(None, (4, 3), channels)]);
    let with = |what: &str| {
        let options = ReadOptions::default().layer(what).unwrap();
        io::read(&path, &options)
    };
    let normal = |picture: io::Picture| picture.frame.get(Kind::Normal).unwrap().get(1, 0, 0);
    assert_eq!(normal(with("normal=odd").unwrap()), ramp(2)(1));
    assert_eq!(normal(with("normal=ODD").unwrap()), ramp(2)(1));
    assert_eq!(normal(with("normal=n3, n2, n1").unwrap()), ramp(7)(1));
    let error = with("normal=odt").unwrap_err().to_string();
    assert!(error.contains("Did you mean 'odd'?"), "{error}");
    assert!(error.contains("a.exr"), "{error}");
    let error = with("normal=n1").unwrap_err().to_string();
    assert!(error.contains("3 channels"), "{error}");
    let error = with("depth=n1,n2").unwrap_err().to_string();
    assert!(error.contains("1 channels"), "{error}");
    assert!(ReadOptions::default().layer("norml=N").is_err());
}

#[test]
fn the_only_picture_is_the_colour() {
    let (_folder, path) = scratch("a.exr");
    let channels = ["R", "G", "B"].map(|c| half(&format!("shot 12.{c}"), 4, 1));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.into())]);
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color"]);
    assert!(picture.notes[0].contains("shot 12"), "{:?}", picture.notes);
}

#[test]
fn variances_of_samples_become_variances_of_the_mean() {
    let (_folder, path) = scratch("a.exr");
    let n = 4;
    let constant = |name: &str, v: f32| AnyChannel::new(name, FlatSamples::F32(vec![v; n]));
    let rgb = |layer: &str, v: f32| ["R", "G", "B"].map(|c| constant(&format!("{layer}.{c}"), v));
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(rgb("albedo", 0.5));
    channels.extend(rgb("albedo_var", 8.0));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.clone())]);
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color", "albedo"]);
    assert!(
        picture.notes[0].contains("albedo_var"),
        "{:?}",
        picture.notes
    );

    channels.push(constant("sampleCount", 16.0));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.clone())]);
    let picture = read(&path);
    let variance = Layer::new(Kind::Albedo, Part::Variance);
    assert_eq!(picture.frame.get(variance).unwrap().data(), [0.5; 12]);
    let (_other, out) = scratch("b.exr");
    write(&out, &picture.frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);

    // PBRT stores the number as an attribute.
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(rgb("Variance", 8.0));
    let mut layer = part(None, (2, 2), channels);
    layer.attributes.other.insert(
        Text::from("samplesPerPixel"),
        exr::meta::attribute::AttributeValue::I32(4),
    );
    save(&path, (2, 2), vec![layer]);
    let variance = Layer::new(Kind::Color, Part::Variance);
    assert_eq!(read(&path).frame.get(variance).unwrap().data(), [2.0; 12]);
}

#[test]
fn escaped_rays_are_infinitely_far_and_come_back_as_they_were() {
    let (_folder, path) = scratch("a.exr");
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, 4, 1)).into();
    let depth = vec![1.0, 1e10, 3.0, f32::MAX];
    channels.push(AnyChannel::new("Z", FlatSamples::F32(depth.clone())));
    save(&path, (2, 2), vec![part(None, (2, 2), channels)]);
    let picture = read(&path);
    let read = picture.frame.get(Kind::Depth).unwrap().data();
    assert_eq!(read, [1.0, f32::INFINITY, 3.0, f32::INFINITY]);
    write(&path, &picture.frame, Some(&picture.origin));
    let raw = raw(&path);
    let written = &raw.layer_data[0].channel_data.list[3].sample_data;
    assert_eq!(*written, FlatSamples::F32(depth));
}

#[test]
fn the_first_view_of_stereo_parts_is_used() {
    let (_folder, path) = scratch("stereo.exr");
    let size = (6, 4);
    let n = 24;
    let view = |name: &str, view: &str, letters: &[&str], seed| {
        let channels = letters.iter().enumerate();
        let channels = channels.map(|(i, c)| half(c, n, seed + i));
        let mut part = part(Some(&format!("{name}_{view}")), size, channels.collect());
        part.attributes.view_name = Some(view.into());
        part
    };
    save(
        &path,
        size,
        vec![
            view("rgba", "right", &["A", "B", "G", "R"], 1),
            view("depth", "left", &["Z"], 5),
            view("rgba", "left", &["A", "B", "G", "R"], 6),
            view("depth", "right", &["Z"], 10),
        ],
    );
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color", "alpha", "depth"]);
    assert_eq!(picture.frame.color().unwrap().data()[0], ramp(4)(0));
    let depth = picture.frame.get(Layer::from(Kind::Depth)).unwrap();
    assert_eq!(depth.data()[3], ramp(10)(3));
    let [note] = &picture.notes[..] else {
        panic!("{:?}", picture.notes);
    };
    assert!(
        note.ends_with("the view right is used; left is preserved unchanged"),
        "{note}"
    );
}

#[test]
fn the_result_of_a_noisy_image_takes_the_place_of_the_renderers() {
    let (_folder, path) = scratch("a.exr");
    let n = 12;
    let group = |name: &str, seed: usize| {
        ["B", "G", "R"].map(|c| half(&format!("ViewLayer.{name}.{c}"), n, seed))
    };
    let channels = [group("Combined", 1), group("Noisy Image", 2)];
    let channels = channels.into_iter().flatten().collect();
    save(&path, (4, 3), vec![part(None, (4, 3), channels)]);
    let options = ReadOptions::default().layer("color=Noisy Image").unwrap();
    let picture = io::read(&path, &options).unwrap();
    let noisy = picture.frame.color().unwrap().clone();
    assert_eq!(noisy.get(0, 0, 0), ramp(2)(0));
    let notes = picture.notes.join("\n");
    assert!(notes.contains("place of ViewLayer.Combined"), "{notes}");
    let result = Frame::new(noisy.map(|v| v + 1.0)).unwrap();
    write(&path, &result, Some(&picture.origin));
    // People look at the combined image; the noisy one is as it was.
    assert_eq!(read(&path).frame.color().unwrap(), result.color().unwrap());
    let again = io::read(&path, &options).unwrap();
    assert_eq!(again.frame.color().unwrap(), &noisy);
}
