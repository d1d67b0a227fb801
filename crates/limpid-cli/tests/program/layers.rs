//! Layers: files of Mitsuba, Blender and PBRT (`bench/peers/small_renders.py`), features in separate files, further passes.

use crate::{command, limpid, said, works};
use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::{Frame, Image, Kind, Layer, Part};
use std::path::{Path, PathBuf};

fn render(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/renders")
        .join(name)
}

fn layers(path: &Path) -> Vec<String> {
    let frame = io::read(path, &ReadOptions::default()).unwrap().frame;
    frame.layers().map(|(l, _)| l.to_string()).collect()
}

#[test]
fn names_that_renderers_write_are_known() {
    for name in ["mitsuba-aov.exr", "mitsuba-dd.exr"] {
        let mut wanted = vec!["color", "alpha", "albedo", "normal", "depth", "id"];
        if name == "mitsuba-aov.exr" {
            wanted.insert(4, "position");
        }
        assert_eq!(layers(&render(name)), wanted, "{name}");
    }
    let wanted = [
        "color",
        "alpha",
        "albedo",
        "normal",
        "depth",
        "motion",
        "id",
        "light:Diffuse Direct",
    ];
    assert_eq!(layers(&render("blender-cycles.exr")), wanted);
}

/// The variance of a sample, which PBRT writes, becomes that of the mean; what is not used is kept.
#[test]
fn the_gbuffer_of_pbrt_is_read_and_kept() {
    let path = render("pbrt-gbuffer.exr");
    let wanted = ["color", "color.variance", "albedo", "normal", "position"];
    let mut found = layers(&path);
    found.sort_by_key(|name| wanted.iter().position(|w| w == name));
    assert_eq!(found, wanted);
    let read = |path: &Path, options: ReadOptions| io::read(path, &options).unwrap().frame;
    let named = |name: &str| ReadOptions::default().layer(name).unwrap();
    let before = read(&path, ReadOptions::default());
    let raw = read(&path, named("light:raw=Variance"));
    let raw = raw.get(Kind::Light("raw".into())).unwrap();
    let variance = before.get(Layer::new(Kind::Color, Part::Variance)).unwrap();
    let quarter: Vec<f32> = raw.data().iter().map(|v| v / 4.0).collect();
    assert_eq!(variance.data(), quarter);
    // Shading normals, not those of the geometry.
    let shading = read(&path, named("normal=Ns"));
    assert_eq!(before.get(Kind::Normal), shading.get(Kind::Normal));

    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(&path, folder.path().join("in.exr")).unwrap();
    works(folder.path(), "denoise in.exr -o out.exr --device cpu");
    let out = folder.path().join("out.exr");
    let after = read(&out, ReadOptions::default());
    assert_ne!(after.color().unwrap(), before.color().unwrap());
    assert_eq!(after.get(Kind::Position), before.get(Kind::Position));
    for name in ["depth=dzdx", "depth=u", "depth=v"] {
        let layer = |path: &Path| read(path, named(name)).get(Kind::Depth).cloned();
        assert_eq!(layer(&out), layer(&path), "{name}");
    }
}

/// Mitsuba's image stands twice in its file, as R, G, B and as img.R, img.G, img.B: both are denoised.
#[test]
fn a_copy_of_the_colour_is_denoised_with_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(render("mitsuba-aov.exr"), folder.path().join("in.exr")).unwrap();
    let got = limpid(folder.path(), "denoise in.exr -o out.exr --device cpu");
    assert!(got.status.success(), "{}", said(&got));
    let out = folder.path().join("out.exr");
    let read = |options: ReadOptions| io::read(&out, &options).unwrap().frame;
    let color = read(ReadOptions::default());
    let copy = read(ReadOptions::default().layer("color=img").unwrap());
    let before = io::read(render("mitsuba-aov.exr"), &ReadOptions::default()).unwrap();
    assert_eq!(color.color().unwrap(), copy.color().unwrap());
    assert_ne!(color.color().unwrap(), before.frame.color().unwrap());
    assert_eq!(color.get(Kind::Depth), before.frame.get(Kind::Depth));
}

/// Features in files of their own give the same image as features in the file.
#[test]
fn features_may_be_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let whole = io::read(render("mitsuba-aov.exr"), &ReadOptions::default())
        .unwrap()
        .frame;
    let write = |name: &str, image: &Image| {
        let frame = Frame::new(image.clone()).unwrap();
        io::write(place.join(name), &frame, None, &WriteOptions::default()).unwrap();
    };
    let mut all = Frame::new(whole.color().unwrap().clone()).unwrap();
    write("beauty.exr", whole.color().unwrap());
    for kind in [Kind::Albedo, Kind::Normal, Kind::Depth] {
        let image = whole.get(kind.clone()).unwrap();
        let name = Layer::from(kind.clone()).to_string();
        write(&format!("{name}.exr"), image);
        all.insert(kind, image.clone()).unwrap();
    }
    io::write(place.join("all.exr"), &all, None, &WriteOptions::default()).unwrap();
    let files = "--albedo albedo.exr --normal normal.exr --depth depth.exr";
    for line in [
        format!("denoise beauty.exr -o apart.exr --device cpu {files}"),
        "denoise all.exr -o together.exr --device cpu".to_owned(),
        "denoise beauty.exr -o plain.exr --device cpu".to_owned(),
    ] {
        let got = limpid(place, &line);
        assert!(got.status.success(), "{line}: {}", said(&got));
    }
    let color = |name: &str| {
        let frame = io::read(place.join(name), &ReadOptions::default())
            .unwrap()
            .frame;
        frame.color().unwrap().clone()
    };
    assert_eq!(color("apart.exr"), color("together.exr"));
    assert_ne!(color("apart.exr"), color("plain.exr"));
    // A second buffer makes a render of what would be a photograph, and this one agrees with the first.
    let got = limpid(
        place,
        "denoise beauty.exr -o two.exr --layer-file color.b=beauty.exr --device cpu",
    );
    assert!(
        said(&got).contains("ensemble") && said(&got).contains("two buffers"),
        "{}",
        said(&got)
    );
}

#[test]
fn layers_that_do_not_fit_name_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let write = |name: &str, width: usize, channels: usize| {
        let frame = Frame::new(Image::new(width, 8, channels)).unwrap();
        io::write(place.join(name), &frame, None, &WriteOptions::default()).unwrap();
    };
    write("beauty.exr", 8, 3);
    write("narrow.exr", 7, 3);
    let got = limpid(place, "denoise beauty.exr -o out.exr --albedo narrow.exr");
    assert_eq!(got.status.code(), Some(1));
    for word in ["narrow.exr", "7x8", "beauty.exr", "8x8"] {
        assert!(said(&got).contains(word), "{}", said(&got));
    }
    let got = limpid(
        place,
        "denoise beauty.exr -o out.exr --layer-file albdo=narrow.exr",
    );
    assert_eq!(got.status.code(), Some(2), "{}", said(&got));
    assert!(said(&got).contains("'albedo'"), "{}", said(&got));
}

/// A layer with the channels of another one is refused; grey may be stored in three channels.
#[test]
fn layers_have_their_own_number_of_channels() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let write = |name: &str, channels: usize, step: f32| {
        let image = Image::from_fn(8, 8, channels, |x, _, c| 0.5 + x as f32 + step * c as f32);
        let frame = Frame::new(image).unwrap();
        io::write(place.join(name), &frame, None, &WriteOptions::default()).unwrap();
    };
    write("beauty.pfm", 3, 0.1);
    write("one.pfm", 1, 0.0);
    write("three.pfm", 3, 0.1);
    write("grey.pfm", 3, 0.0);
    let run = |option: &str| {
        let line = format!("denoise beauty.pfm -o out.pfm --method atrous --device cpu {option}");
        limpid(place, &line)
    };
    for (option, words) in [
        (
            "--normal one.pfm",
            "one.pfm: normal needs 3 channels; the image has 1",
        ),
        ("--position one.pfm", "position needs 3 channels"),
        ("--motion one.pfm", "motion needs 2 channels"),
        (
            "--depth three.pfm",
            "three.pfm: depth needs 1 channel, or 3 that are equal; the image has 3",
        ),
        ("--layer-file id=three.pfm", "id needs 1 channel"),
    ] {
        let got = run(option);
        assert_eq!(got.status.code(), Some(1), "{option}: {}", said(&got));
        assert!(said(&got).contains(words), "{option}: {}", said(&got));
    }
    for option in ["--depth grey.pfm", "--depth one.pfm", "--albedo one.pfm"] {
        let got = run(option);
        assert!(got.status.success(), "{option}: {}", said(&got));
    }
}

#[test]
fn further_passes_are_denoised_with_the_colour() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::copy(render("blender-cycles.exr"), place.join("in.exr")).unwrap();
    let name = "ViewLayer.Ambient Occlusion";
    let got = command(place)
        .args([
            "denoise", "in.exr", "-o", "out.exr", "--device", "cpu", "--aov", name,
        ])
        .output()
        .unwrap();
    assert!(got.status.success(), "{}", said(&got));
    let pass = |path: &Path| {
        let options = ReadOptions::default()
            .layer(&format!("light:ao={name}"))
            .unwrap();
        let frame = io::read(path, &options).unwrap().frame;
        frame.get(Kind::Light("ao".into())).unwrap().clone()
    };
    let (before, after) = (pass(&place.join("in.exr")), pass(&place.join("out.exr")));
    let mean = |image: &Image| image.data().iter().sum::<f32>() / image.data().len() as f32;
    assert_ne!(before, after);
    assert!((mean(&before) / mean(&after) - 1.0).abs() < 0.1);
    let got = limpid(place, "denoise in.exr -o out.exr --aov Shadows");
    assert_eq!(got.status.code(), Some(1));
    assert!(
        said(&got).contains("no layer 'Shadows' in in.exr")
            && said(&got).ends_with("`limpid info in.exr` lists them\n"),
        "{}",
        said(&got)
    );
    let name = "ViewLayer.Object Index";
    let got = command(place)
        .args(["denoise", "in.exr", "-o", "out.exr", "--aov", name])
        .output()
        .unwrap();
    assert_eq!(got.status.code(), Some(1), "{}", said(&got));
    assert!(said(&got).contains("holds object ids"), "{}", said(&got));
}

/// Where the renderer's own denoiser ran, the note shows the option that selects its input.
#[test]
fn the_noisy_image_is_named_with_its_option() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mut frame = Frame::new(Image::from_fn(32, 32, 3, |x, y, _| (x + y) as f32)).unwrap();
    let noisy = frame.color().unwrap().map(|v| 1.1 * v);
    let name = Kind::Light("Noisy Image".into());
    frame.insert(name, noisy).unwrap();
    io::write(place.join("in.exr"), &frame, None, &WriteOptions::default()).unwrap();
    let got = limpid(
        place,
        "denoise in.exr -o out.exr --device cpu --quality fast",
    );
    let words = "select it with --layer 'color=Noisy Image'";
    assert!(said(&got).contains(words), "{}", said(&got));
}
