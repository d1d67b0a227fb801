//! Rendered sequences: frames are seen with those before and after, whatever part of them is processed.

use super::{limpid, said, works};
use limpid::Image;
use limpid::io::{self, ReadOptions};
use std::path::Path;
use tempfile::tempdir;

/// A frame that is refused costs no other one.
#[test]
fn frames_before_a_refused_one_are_written() {
    let folder = tempdir().unwrap();
    let place = folder.path();
    works(
        place,
        "render corridor -o in.#.exr --size 24x16 --spp 1 --frames 0..4",
    );
    let path = place.join("in.2.exr");
    let mut frame = io::read(&path, &ReadOptions::default()).unwrap().frame;
    let motion = frame.get_mut(limpid::Kind::Motion).unwrap();
    motion.data_mut().fill(f32::INFINITY);
    io::write(&path, &frame, None, &Default::default()).unwrap();
    let got = limpid(
        place,
        "denoise in.#.exr -o out.#.exr --device cpu --method neural",
    );
    let told = said(&got);
    assert!(told.contains("1 of 5 frames failed"), "{told}");
    let made = [0, 1, 2, 3, 4].map(|n| place.join(format!("out.{n}.exr")).exists());
    assert_eq!(made, [true, true, false, true, true]);
    // Those before it are what they are without those after it.
    let line = "denoise in.#.exr -o end.#.exr --device cpu --method neural";
    for n in 2..5 {
        std::fs::remove_file(place.join(format!("in.{n}.exr"))).unwrap();
    }
    works(place, line);
    let [a, b] = ["out.1.exr", "end.1.exr"].map(|name| color(&place.join(name)));
    assert_eq!(a, b);
}

/// Files without motion vectors: motion is found in their layers.
#[test]
fn motion_is_found_where_files_have_none() {
    let folder = tempdir().unwrap();
    let place = folder.path();
    works(
        place,
        "render corridor -o in.#.exr --size 96x64 --spp 1 --frames 0..6",
    );
    for n in 0..7 {
        let path = place.join(format!("in.{n}.exr"));
        let mut frame = io::read(&path, &ReadOptions::default()).unwrap().frame;
        assert!(frame.remove(limpid::Kind::Motion).is_some());
        io::write(&path, &frame, None, &Default::default()).unwrap();
    }
    works(
        place,
        "render corridor -o ref.exr --size 96x64 --spp 256 --frames 3 --layers color",
    );
    let told = said(&limpid(place, "denoise in.#.exr -o out.#.exr --device cpu"));
    let seen = told.matches("seen with 3 frames on each side").count();
    assert_eq!(seen, 7, "{told}");
    works(place, "denoise in.3.exr -o alone.exr --device cpu");
    let reference = color(&place.join("ref.exr"));
    // Without the worst thousandth: edges of lamps, where a wrong vector costs much.
    let error = |name: &str| {
        let made = color(&place.join(name));
        let pairs = made.data().iter().zip(reference.data());
        let mut each: Vec<f32> = pairs
            .map(|(a, b)| (a - b).powi(2) / (b * b + 0.01))
            .collect();
        each.sort_by(f32::total_cmp);
        let kept = each.len() - each.len() / 1000;
        each[..kept].iter().map(|e| f64::from(*e)).sum::<f64>()
    };
    let [together, alone] = ["out.3.exr", "alone.exr"].map(error);
    assert!(together < 0.8 * alone, "{together} {alone}");
    // A range is the same as a part of the whole.
    let line = "denoise in.#.exr -o part.#.exr --device cpu --frames 3..3";
    works(place, line);
    let [whole, part] = ["out.3.exr", "part.3.exr"].map(|name| color(&place.join(name)));
    assert_eq!(whole, part);
}

fn color(path: &Path) -> Image {
    let picture = io::read(path, &ReadOptions::default()).unwrap();
    picture.frame.color().unwrap().clone()
}

#[test]
fn parts_of_a_sequence_are_those_of_the_whole() {
    let folder = tempdir().unwrap();
    let place = folder.path();
    works(
        place,
        "render corridor -o in.##.exr --size 40x24 --spp 1 --frames 0..5",
    );
    let said_of = |line: &str| said(&limpid(place, line));
    let told = said_of("denoise in.##.exr -o whole.##.exr --device cpu --method neural --around 2");
    let blended = told.matches("seen with 2 frames on each side").count();
    assert_eq!(blended, 6, "{told}");
    // The neighbours of a range are read, and not written.
    let line = "--device cpu --method neural --around 2";
    works(
        place,
        &format!("denoise in.##.exr -o part.##.exr --frames 2..3 {line}"),
    );
    let path = |name: &str, n: u32| place.join(format!("{name}.{n:02}.exr"));
    let exists = |n: u32| path("part", n).exists();
    assert_eq!([1, 2, 3, 4].map(exists), [false, true, true, false]);
    for n in [2, 3] {
        assert_eq!(
            color(&path("whole", n)),
            color(&path("part", n)),
            "frame {n}"
        );
    }
    // What is missing is made again as it was.
    let before = color(&path("whole", 4));
    std::fs::remove_file(path("whole", 4)).unwrap();
    works(
        place,
        &format!("denoise in.##.exr -o whole.##.exr --resume {line}"),
    );
    assert_eq!(before, color(&path("whole", 4)));
    // Without blending, a frame is that of its file alone.
    let alone = "--device cpu --method neural --around 0";
    let told = said_of(&format!("denoise in.##.exr -o alone.##.exr {alone}"));
    assert!(told.contains("without history"), "{told}");
    works(place, "denoise in.03.exr -o one.exr --device cpu");
    assert_eq!(color(&path("alone", 3)), color(&place.join("one.exr")));
    assert_ne!(color(&path("alone", 3)), color(&path("whole", 3)));
    // Where a frame is missing, one sequence ends and another begins.
    std::fs::remove_file(path("in", 2)).unwrap();
    works(place, &format!("denoise in.##.exr -o gap.##.exr {line}"));
    works(
        place,
        &format!("denoise in.##.exr -o end.##.exr --frames 3..5 {line}"),
    );
    assert_eq!(
        [0, 1, 2, 3].map(|n| path("gap", n).exists()),
        [true, true, false, true]
    );
    assert_eq!(color(&path("gap", 3)), color(&path("end", 3)));
}
