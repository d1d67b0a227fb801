//! What a render's file remembers, and what is made of it: the camera, and at which pixels colour was sampled.

use crate::command;
use limpid::{Frame, Image, Kind, Layer, io};
use std::path::Path;

/// Exit code and standard error of a command in a folder; spaces separate arguments.
fn limpid(folder: &Path, line: &str) -> (Option<i32>, String) {
    let output = command(folder)
        .env("LIMPID_QUIET", "1")
        .args(line.split(' '))
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), errors)
}

/// The same for commands that must work; gives what they say.
fn works(folder: &Path, line: &str) -> String {
    let (code, errors) = limpid(folder, line);
    assert_eq!(code, Some(0), "{line}: {errors}");
    errors
}

fn read(path: &Path) -> io::Picture {
    io::read(path, &io::ReadOptions::default()).unwrap()
}

fn mean(image: &Image) -> f64 {
    let sum: f64 = image.data().iter().map(|v| f64::from(*v)).sum();
    sum / image.data().len() as f64
}

#[test]
fn references_are_taken_through_the_camera_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let camera = "--size 32x24 --camera 0.3,0.4,1.2 --target=-0.6,0.2,-1 --field-of-view 50";
    works(
        at,
        &format!("render cornell -o in.exr --spp 8 --gradients {camera}"),
    );
    works(
        at,
        &format!("render cornell -o ref.exr --spp 256 --seed 9 --layers color {camera}"),
    );
    let patch = "reconstruct in.exr --method patch --rounds 2 --device cpu --layers all";
    let said = works(
        at,
        &format!("{patch} -o a.exr --scene cornell --caches 200 --cache-samples 64"),
    );
    assert_eq!(said, "");
    works(at, &format!("{patch} -o b.exr --references ref.exr"));
    // The measured error of a candidate is about the same from both; through another camera it is a hundred times as large.
    let error = |file: &str| {
        let layer = Layer::from(Kind::Light("error-1".into()));
        mean(read(&at.join(file)).frame.require(layer).unwrap())
    };
    let (scene, known) = (error("a.exr"), error("b.exr"));
    assert!(
        scene < 10.0 * known && known < 10.0 * scene,
        "{scene} and {known}"
    );

    // 2 samples per pixel of 32×24 are 24 pixels with 64.
    let budget = format!("{patch} -o e.exr --scene cornell --cache-samples 64");
    works(at, &format!("{budget} --budget 10"));
    works(
        at,
        &format!("{patch} -o f.exr --scene cornell --cache-samples 64 --caches 24"),
    );
    let color = |file: &str| read(&at.join(file)).frame.color().unwrap().clone();
    assert_eq!(color("e.exr"), color("f.exr"));
    let (code, errors) = limpid(at, &format!("{budget} --budget 8"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("has 8 samples per pixel"), "{errors}");

    let (code, errors) = limpid(at, &format!("{patch} -o c.exr --scene columns"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("shows cornell"), "{errors}");

    // A file that says nothing of its camera: the scene's own, and one line says so.
    let mut bare = Frame::empty(read(&at.join("in.exr")).frame.size()).unwrap();
    for (layer, image) in read(&at.join("in.exr")).frame.layers() {
        bare.insert(layer.clone(), image.clone()).unwrap();
    }
    io::write(
        at.join("bare.exr"),
        &bare,
        None,
        &io::WriteOptions::default(),
    )
    .unwrap();
    let said = works(
        at,
        "reconstruct bare.exr -o d.exr --method patch --rounds 1 --device cpu --scene cornell --caches 20",
    );
    assert!(said.contains("does not store its camera"), "{said}");
    let (code, errors) = limpid(
        at,
        "reconstruct bare.exr -o d.exr --method patch --device cpu --scene cornell --budget 10",
    );
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("does not store its samples"), "{errors}");
}

#[test]
fn patch_runs_without_halves_and_says_one_thing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    works(
        at,
        "render cornell -o in.exr --spp 4 --gradients --size 20x16 --layers means",
    );
    let said = works(
        at,
        "reconstruct in.exr -o out.exr --method patch --rounds 2 --device cpu",
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("no half buffers"), "{said}");
    assert_eq!(
        read(&at.join("out.exr"))
            .frame
            .color()
            .unwrap()
            .non_finite(),
        0
    );
}

#[test]
fn files_say_at_which_pixels_colour_was_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for n in [2, 4] {
        works(
            at,
            &format!("render glossy -o in.exr --spp 4 --size 48x40 --every {n}"),
        );
        let input = read(&at.join("in.exr"));
        assert_eq!(input.frame.sample_spacing(), n);
        let denoise = "denoise in.exr --method atrous --device cpu";
        let said = works(at, &format!("{denoise} -o seen.exr"));
        assert!(!said.contains("NaN"), "{said}");
        works(at, &format!("{denoise} -o told.exr --subsample {n}"));
        works(at, &format!("{denoise} -o full.exr --subsample 1"));
        let [seen, told, full] = ["seen.exr", "told.exr", "full.exr"].map(|f| read(&at.join(f)));
        assert_eq!(seen.frame.color().unwrap(), told.frame.color().unwrap());
        assert_ne!(seen.frame.color().unwrap(), full.frame.color().unwrap());
        // The result has a colour at every pixel, and the file no longer says otherwise.
        assert_eq!(seen.frame.sample_spacing(), 1);
        assert_eq!(seen.origin.text("limpid.every"), None);
        assert_eq!(seen.origin.text("limpid.scene").as_deref(), Some("glossy"));
    }
}

#[test]
fn adaptive_samples_beat_even_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut ratios = Vec::new();
    for scene in ["corridor", "outdoor", "columns"] {
        let render = format!("render {scene} --size 64x48");
        works(
            at,
            &format!("{render} -o ref.exr --spp 400 --seed 99 --layers color"),
        );
        works(at, &format!("{render} -o even.exr --spp 16"));
        works(
            at,
            &format!("{render} -o own.exr --spp 16 --adaptive --device cpu --sample-map map.exr"),
        );
        let map = read(&at.join("map.exr")).frame.color().unwrap().clone();
        let mean = map.data().iter().sum::<f32>() / map.data().len() as f32;
        assert!(
            (mean - 16.0).abs() < 0.01,
            "{scene}: {mean} samples per pixel"
        );
        let reference = read(&at.join("ref.exr"));
        let error = |name: &str| {
            let denoise = "--method nfor --quality good --device cpu --overwrite";
            works(at, &format!("denoise {name} -o out.exr {denoise}"));
            let (out, right) = (read(&at.join("out.exr")), reference.frame.color().unwrap());
            limpid::metric::relmse(out.frame.color().unwrap(), right).unwrap()
        };
        ratios.push(error("own.exr") / error("even.exr"));
    }
    let product: f64 = ratios.iter().product();
    let mean = product.powf(1.0 / ratios.len() as f64);
    println!("{ratios:?}");
    assert!(mean < 0.92, "{ratios:?}");
}

/// Renders with little light in their gradients are where patches help; elsewhere they must not hurt much.
#[test]
fn patches_leave_less_error_than_a_fit() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut ratios = Vec::new();
    for scene in ["glass", "columns"] {
        let render = format!("render {scene} --size 48x48");
        works(
            at,
            &format!("{render} -o ref.exr --spp 400 --seed 99 --layers color"),
        );
        works(at, &format!("{render} -o in.exr --spp 8 --gradients"));
        let reference = read(&at.join("ref.exr"));
        let error = |how: &str| {
            let line = format!("reconstruct in.exr -o out.exr {how} --device cpu --overwrite");
            works(at, &line);
            let (out, right) = (read(&at.join("out.exr")), reference.frame.color().unwrap());
            limpid::metric::relmse(out.frame.color().unwrap(), right).unwrap()
        };
        ratios.push(error("--method patch") / error("--norm l1"));
    }
    assert!(ratios.iter().all(|r| *r < 0.9), "{ratios:?}");
    assert!(ratios.iter().product::<f64>().sqrt() < 0.8, "{ratios:?}");
}
