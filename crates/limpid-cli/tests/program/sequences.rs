//! Rendered sequences: frames are seen with those before and after, whatever part of them is processed.

use super::{limpid, said, works};
use limpid::Image;
use limpid::io::{self, ReadOptions};
use std::path::Path;
use tempfile::tempdir;

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
