//! Many files: what is meant, where results go, what is refused before the work, what happens when one file fails.

use crate::{command, films, limpid, said};
use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::{Frame, Image, Kind};
use std::path::Path;

/// A grey picture with grain.
fn write(path: &Path) {
    let image = Image::from_fn(16, 12, 3, |x, y, c| {
        0.5 + 0.05 * ((x * 7 + y * 13 + c * 5) % 11) as f32 / 11.0
    });
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

const FAST: &str = "--method eaw --sigma 0.02 --device cpu";

#[test]
fn one_line_per_file_says_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"));
    let got = limpid(folder.path(), &format!("denoise a.png -o b.png {FAST}"));
    assert!(got.status.success() && got.stdout.is_empty());
    let text = said(&got);
    assert_eq!(text.lines().count(), 1, "{text}");
    for word in ["a.png: eaw on cpu", "noise 5.1/255", " s, written to b.png"] {
        assert!(text.contains(word), "{text}");
    }
    let got = limpid(
        folder.path(),
        &format!("denoise a.png -o c.png --quiet {FAST}"),
    );
    assert!(got.status.success() && said(&got).is_empty());
    let got = limpid(
        folder.path(),
        &format!("denoise a.png -o d.png --json {FAST}"),
    );
    let fact: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
    assert_eq!(fact["input"], "a.png");
    assert_eq!(fact["output"], "d.png");
    assert_eq!(fact["method"], "eaw");
    assert_eq!(fact["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(fact["options"]["sigma"], 0.02);
    assert_eq!(fact["found"]["sigma"][0], 0.02);
    assert!(fact["seconds"].as_f64().is_some() && said(&got).is_empty());
}

/// Nothing that a driver says may appear beside it, and no device is needed for `info`.
#[test]
fn a_machine_without_a_desktop_stays_silent() {
    let folder = tempfile::tempdir().unwrap();
    let got = limpid(folder.path(), "info");
    assert!(got.status.success());
    assert_eq!(said(&got), "");
    let shown = String::from_utf8_lossy(&got.stdout).into_owned();
    assert!(shown.lines().count() <= 24, "{shown}");
}

#[test]
fn folders_and_wildcards_go_to_a_folder_that_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for name in ["in/a.png", "in/b.png", "in/c.tif"] {
        write(&place.join(name));
    }
    std::fs::write(place.join("in/notes.txt"), "no picture").unwrap();
    let got = limpid(place, &format!("denoise in -o out/all {FAST} --jobs 3"));
    assert!(got.status.success(), "{}", said(&got));
    assert_eq!(said(&got).lines().count(), 4, "{}", said(&got));
    for name in ["out/all/a.png", "out/all/b.png", "out/all/c.tif"] {
        assert!(place.join(name).exists());
    }
    let got = limpid(place, &format!("denoise in/*.png -o some {FAST}"));
    assert!(got.status.success(), "{}", said(&got));
    assert!(place.join("some/a.png").exists() && !place.join("some/c.tif").exists());
    // A folder with one image is a folder.
    write(&place.join("one/a.png"));
    let got = limpid(place, &format!("denoise one -o new {FAST}"));
    assert!(got.status.success(), "{}", said(&got));
    assert!(place.join("new/a.png").exists());
    // The same pixels, one at a time or several at once.
    let read = |path: &str| std::fs::read(place.join(path)).unwrap();
    assert_eq!(read("some/a.png"), read("out/all/a.png"));
}

#[test]
fn what_a_folder_holds_besides_images_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for name in ["in/a.png", "in/b.png", "in/deep/er/c.png"] {
        write(&place.join(name));
    }
    for name in ["x.HEIC", "notes.txt", ".hidden"] {
        std::fs::write(place.join("in").join(name), "something").unwrap();
    }
    // Where no program is installed that decodes HEIC.
    let line = format!("denoise in -o in/out {FAST}");
    let mut alone = command(place);
    let got = alone.args(line.split(' ')).env("PATH", place).output();
    let got = got.unwrap();
    assert!(got.status.success(), "{}", said(&got));
    let text = said(&got);
    for words in [
        "in: left out: HEIC, which ffmpeg or heif-dec would decode (1): x.HEIC",
        "folders, which --recursive searches (1): deep",
        "others (1): notes.txt",
        "written to in/out/b.png (2 of 2)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    std::fs::remove_file(place.join("in/x.HEIC")).unwrap();
    // The folder of results is not searched.
    let line = format!("denoise in -o in/out --recursive {FAST}");
    for _ in 0..2 {
        let got = limpid(place, &line);
        assert!(got.status.success(), "{}", said(&got));
        assert!(said(&got).contains("(3 of 3)"), "{}", said(&got));
    }
    assert!(place.join("in/out/deep/er/c.png").exists());
    assert!(!place.join("in/out/out").exists());
}

/// Photographs of phones, by ffmpeg.
#[test]
fn avif_is_read_where_a_decoder_is_installed() {
    let Some(folder) = films::folder() else {
        return;
    };
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    films::ffmpeg(
        place,
        "-f lavfi -i testsrc2=size=64x48 -frames:v 1 -c:v libaom-av1 -still-picture 1 -crf 10 in/a.avif",
    );
    write(&place.join("in/b.png"));
    std::fs::write(place.join("in/broken.heic"), "no picture").unwrap();
    let got = limpid(place, &format!("denoise in -o out {FAST}"));
    assert_eq!(got.status.code(), Some(1));
    let text = said(&got);
    assert!(text.contains("in/a.avif: decoded by "), "{text}");
    assert!(text.contains("in/broken.heic: cannot be decoded"), "{text}");
    assert!(text.contains("1 of 3 files failed"), "{text}");
    // The picture is the one that ffmpeg shows.
    let got = limpid(place, "convert in/a.avif -o a.png");
    assert!(got.status.success(), "{}", said(&got));
    films::ffmpeg(place, "-i in/a.avif -frames:v 1 own.png");
    let read = |name: &str| {
        let picture = io::read(place.join(name), &ReadOptions::default());
        picture.unwrap().frame.color().unwrap().clone()
    };
    let (ours, own) = (read("a.png"), read("own.png"));
    assert_eq!(ours.size(), own.size());
    let apart = ours.data().iter().zip(own.data());
    let apart = apart.map(|(a, b)| (a - b).abs()).sum::<f32>() / own.data().len() as f32;
    assert!(apart < 0.02, "{apart}");
    assert_eq!(read("out/a.png").size(), own.size());
    let info = limpid(place, "info in/a.avif");
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(
        info.contains("64x48") && info.contains("decoded by"),
        "{info}"
    );
}

#[test]
fn frames_have_numbers_in_either_notation() {
    let folder = tempfile::tempdir().unwrap();
    for n in [1, 2, 10] {
        write(&folder.path().join(format!("s.{n:04}.png")));
    }
    for (from, to, there) in [
        ("s.%04d.png", "t.%03d.png", "t.010.png"),
        ("s.####.png", "u.##.png", "u.10.png"),
        ("s.%04d.png", "v", "v/s.0010.png"),
        ("s.%04d.png", "new/place/s.####.png", "new/place/s.0010.png"),
    ] {
        let line = format!("denoise {from} -o {to} {FAST}");
        let got = limpid(folder.path(), &line);
        assert!(got.status.success(), "{}", said(&got));
        assert_eq!(said(&got).lines().count(), 3, "{}", said(&got));
        assert!(folder.path().join(there).exists(), "{there}");
    }
    let line = "filter gaussian s.%04d.png -o w.%04d.png --device cpu";
    let got = limpid(folder.path(), line);
    assert!(got.status.success(), "{}", said(&got));
    assert!(folder.path().join("w.0002.png").exists());
}

#[test]
fn one_bad_file_does_not_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.png", "c.png"] {
        write(&folder.path().join(name));
    }
    std::fs::write(folder.path().join("b.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
    let got = limpid(
        folder.path(),
        &format!("denoise a.png b.png c.png -o out {FAST}"),
    );
    assert_eq!(got.status.code(), Some(1));
    let text = said(&got);
    assert!(text.contains("limpid: b.png: "), "{text}");
    assert!(
        text.ends_with("limpid: 1 of 3 files failed: b.png\n"),
        "{text}"
    );
    let there = |name: &str| folder.path().join("out").join(name).exists();
    assert!(there("a.png") && !there("b.png") && there("c.png"));
    // A frame that is damaged is left out of its sequence.
    for n in 0..3 {
        write(&folder.path().join(format!("s{n}.png")));
    }
    std::fs::write(folder.path().join("s1.png"), b"nothing").unwrap();
    let got = limpid(folder.path(), &format!("denoise s#.png -o t#.png {FAST}"));
    assert_eq!(got.status.code(), Some(1));
    assert!(
        said(&got).contains("1 of 3 frames failed"),
        "{}",
        said(&got)
    );
    assert!(folder.path().join("t2.png").exists());
}

#[test]
fn inputs_are_not_replaced_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    write(&place.join("a.png"));
    let before = std::fs::read(place.join("a.png")).unwrap();
    for line in [
        "denoise a.png -o a.png",
        "denoise a.png -o ./",
        "denoise a.png -o ../%/a.png",
    ] {
        let name = place.file_name().unwrap().to_string_lossy().into_owned();
        let line = format!("{} {FAST}", line.replace('%', &name));
        let got = limpid(place, &line);
        assert_eq!(got.status.code(), Some(2), "{line}: {}", said(&got));
        assert!(said(&got).contains("--overwrite"), "{}", said(&got));
        assert_eq!(std::fs::read(place.join("a.png")).unwrap(), before);
    }
    let got = limpid(place, &format!("denoise a.png -o a.png --overwrite {FAST}"));
    assert!(got.status.success(), "{}", said(&got));
    assert_ne!(std::fs::read(place.join("a.png")).unwrap(), before);
}

#[test]
fn what_cannot_work_is_refused_before_the_first_frame() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for name in ["a.png", "b.png", "x/a.png", "s.0001.png"] {
        write(&place.join(name));
    }
    for name in ["a.gif", "a.mp4"] {
        std::fs::write(place.join(name), "not looked at").unwrap();
    }
    for (line, word, code) in [
        ("denoise a.png gone.png -o out", "gone.png", 1),
        ("denoise a.png b.png -o out.png", "folder", 2),
        ("denoise a.png x/a.png -o out", "both", 2),
        ("denoise s.####.png -o out.png", "OUT.####.exr", 2),
        ("denoise a.png -o no/such/out.png", "create it first", 2),
        ("denoise a.png -o out.gif", "out.gif", 2),
        ("denoise a.gif -o out.mp4", "ffmpeg -i a.gif a.mkv", 2),
        (
            "denoise a.mp4 -o out.gif",
            "'gif' is not a format that films are written in; use one of: mp4, mkv",
            2,
        ),
        (
            "denoise a.png -o out.y4m",
            "a.png is an image, but out.y4m is a film",
            2,
        ),
        (
            "denoise - -o out.png",
            "- is a film, but out.png is an image",
            2,
        ),
        ("denoise none*.png -o out", "no such file", 1),
        ("denoise none.####.png -o out", "no such file", 1),
        (
            "denoise a.png b.png -o out --method taa --jobs 2",
            "each frame needs the previous one",
            2,
        ),
        ("denoise a.png -o out/ --albedo gone.exr", "gone.exr", 1),
    ] {
        let line = match line.contains("--method") {
            true => line.to_owned(),
            false => format!("{line} {FAST}"),
        };
        let got = limpid(place, &line);
        assert_eq!(got.status.code(), Some(code), "{line}: {}", said(&got));
        assert!(said(&got).contains(word), "{line}: {}", said(&got));
        assert_eq!(said(&got).lines().count(), 1, "{}", said(&got));
        assert!(
            !place.join("out").exists() && !place.join("out.png").exists(),
            "{line}"
        );
    }
}

#[test]
fn a_warning_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.exr", "b.exr", "c.exr"] {
        let image = Image::from_fn(8, 8, 3, |x, _, _| if x == 3 { f32::NAN } else { 0.5 });
        let frame = Frame::new(image).unwrap();
        io::write(
            folder.path().join(name),
            &frame,
            None,
            &WriteOptions::default(),
        )
        .unwrap();
    }
    let got = limpid(
        folder.path(),
        &format!("denoise a.exr b.exr c.exr -o out -q {FAST}"),
    );
    let text = said(&got);
    assert!(
        text.starts_with("limpid: a.exr: layer color: 8 pixels are NaN"),
        "{text}"
    );
    assert_eq!(text.matches("a.exr").count(), 1, "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("limpid: 2 more files: layer color"), "{text}");
}

#[test]
fn every_subcommand_takes_threads() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"));
    for line in [
        "render cornell --size 8x8 --spp 1 -o r.exr --threads 1",
        "compare a.png --reference a.png --threads 1",
        "filter gaussian a.png -o g.png --threads 1 --device cpu",
        "--threads 1 info",
        "-q --threads 1 denoise a.png -o n.png --method nlm --radius 2 --patch 1 --device cpu",
        "--threads=1 --quiet filter gaussian a.png -o g.png --radius 2 --device cpu",
    ] {
        let got = limpid(folder.path(), line);
        assert!(got.status.success(), "{line}: {}", said(&got));
    }
    let got = limpid(folder.path(), "info --threads 0");
    assert_eq!(got.status.code(), Some(2));
}

#[test]
fn options_name_the_method_that_they_belong_to() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"));
    for (options, words) in [
        (
            "--kernel 3",
            "--kernel is an option of atrous and svgf; add --method atrous",
        ),
        (
            "--method nlm --kernel 3",
            "nlm has no option --kernel; it is an option of atrous and svgf",
        ),
        (
            "--lumnance 1",
            "unknown option --lumnance. Did you mean --luminance?",
        ),
        ("--method nml", "unknown method 'nml'. Did you mean 'nlm'?"),
        ("--quality bets", "--quality bets: expected fast|good|best"),
        (
            "--method atrous --quality fast",
            "atrous has no quality steps; camera, ddid, eaw, ensemble, film, neural and nfor have",
        ),
        (
            "--method eaw --quality bets",
            "--quality bets: expected fast|good|best",
        ),
    ] {
        let got = limpid(folder.path(), &format!("denoise a.png -o b.png {options}"));
        assert_eq!(got.status.code(), Some(2), "{}", said(&got));
        assert_eq!(said(&got), format!("limpid: {words}\n"));
    }
    for options in [
        "--quality fast",
        "--sigma 0.02",
        "--luminance 0.5 --chroma 1.5",
        "--strength 0.3",
    ] {
        let got = limpid(folder.path(), &format!("denoise a.png -o b.png {options}"));
        assert!(got.status.success(), "{options}: {}", said(&got));
    }
}

/// Images that are named one by one are not frames of a sequence, though they have motion vectors.
#[test]
fn images_of_a_batch_are_independent() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for (name, brightness) in [("a", 0.2f32), ("b", 0.9)] {
        let color = Image::from_fn(24, 16, 3, |x, y, c| {
            brightness * (1.0 + ((x * 7 + y * 5 + c * 3) % 11) as f32 / 11.0)
        });
        let mut frame = Frame::new(color).unwrap();
        let normal = Image::from_fn(24, 16, 3, |_, _, c| [0.0, 0.0, 1.0][c]);
        frame.insert(Kind::Normal, normal).unwrap();
        let depth = Image::from_fn(24, 16, 1, |_, _, _| 2.0);
        frame.insert(Kind::Depth, depth).unwrap();
        frame.insert(Kind::Motion, Image::new(24, 16, 2)).unwrap();
        let path = place.join(format!("{name}.exr"));
        io::write(path, &frame, None, &WriteOptions::default()).unwrap();
    }
    for line in [
        "denoise a.exr b.exr -o both/ --device cpu",
        "denoise a.exr b.exr -o apart/ --device cpu --jobs 2",
        "denoise b.exr -o alone.exr --device cpu",
    ] {
        let got = limpid(place, line);
        assert!(got.status.success(), "{line}: {}", said(&got));
    }
    let color = |name: &str| {
        let loaded = io::read(place.join(name), &ReadOptions::default()).unwrap();
        loaded.frame.color().unwrap().clone()
    };
    assert_eq!(color("both/b.exr"), color("alone.exr"));
    assert_eq!(color("apart/b.exr"), color("alone.exr"));
}
