//! Working with films: parts, pictures, descriptions, interruptions and pages.

use crate::films::{PICTURES, assert_times, ffmpeg, folder, pictures, times};
use crate::{command, limpid, said, works};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_part_of_a_film() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!(
            "{PICTURES} -f lavfi -i sine=d=0.4 -c:v libx264 -preset ultrafast -c:a pcm_s16le a.mkv"
        ),
    );
    for (options, count) in [
        ("--frames 3..6", 4),
        ("--time 0.12..0.28", 4),
        ("--time 0.2..", 5),
    ] {
        works(
            here,
            &format!("denoise a.mkv -o b.mkv --device cpu {options}"),
        );
        let frames = times(here, "b.mkv", "v:0");
        assert_eq!(frames.len(), count, "{options}");
        assert!(frames[0].abs() < 0.03, "{options}: {frames:?}");
        let last = times(here, "b.mkv", "a:0").pop().unwrap();
        assert!(last < 0.04 * count as f64 + 0.06, "{options}: {last}");
    }
    // The same frames from y4m.
    ffmpeg(here, "-i a.mkv -map 0:v -f yuv4mpegpipe a.y4m");
    for options in ["--frames 3..6", "--time 0.12..0.28"] {
        works(
            here,
            &format!("denoise a.y4m -o b.y4m --device cpu {options}"),
        );
        works(
            here,
            &format!("denoise a.mkv -o c.y4m --device cpu {options}"),
        );
        let frames = |name: &str| {
            let bytes = std::fs::read(here.join(name)).unwrap();
            let start = bytes.iter().position(|b| *b == b'\n').unwrap();
            bytes[start..].to_vec()
        };
        assert!(frames("b.y4m") == frames("c.y4m"), "{options}");
    }
}

#[test]
fn films_are_described() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!(
            "{PICTURES} -f lavfi -i sine=d=0.4 -c:v libx264 -preset ultrafast -colorspace bt709 -c:a aac a.mp4"
        ),
    );
    let told = works(here, "info a.mp4");
    for part in [
        "size         96x64",
        "rate         25 frames/s",
        "length       0:00:00.400, 10 frames",
        "codec        h264",
        "matrix bt709",
        "audio        aac, 44100 Hz, 1 channels",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let facts: Value = serde_json::from_str(&works(here, "info a.mp4 --json")).unwrap();
    assert_eq!(
        (&facts["frames"], &facts["rate"]),
        (&10.into(), &25.0.into())
    );
    std::fs::write(here.join("broken.mp4"), "no film").unwrap();
    let out = limpid(here, "info broken.mp4");
    assert_eq!(out.status.code(), Some(1));
    assert!(
        said(&out).contains("broken.mp4: ffprobe failed: Invalid data"),
        "{}",
        said(&out)
    );
}

#[test]
fn films_become_pictures_and_pictures_a_film() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!("{PICTURES} -pix_fmt yuv422p10le -colorspace bt709 -c:v ffv1 a.mkv"),
    );
    works(
        here,
        "denoise a.mkv -o p.###.png --frames 3..6 --device cpu",
    );
    let mut names: Vec<String> = (std::fs::read_dir(here).unwrap())
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".png"))
        .collect();
    names.sort();
    assert_eq!(names, ["p.003.png", "p.004.png", "p.005.png", "p.006.png"]);
    assert!(works(here, "info p.003.png").contains("16 bit"));
    // The colours are those that ffmpeg shows.
    works(
        here,
        "denoise a.mkv -o same.###.png --frames 3..3 --strength 0 --device cpu",
    );
    ffmpeg(
        here,
        "-i a.mkv -vf select=eq(n\\,3),scale=in_color_matrix=bt709:flags=neighbor -frames:v 1 -pix_fmt rgb48be w.png",
    );
    let told = works(here, "compare same.003.png --reference w.png --json");
    let told: Value = serde_json::from_str(&told).unwrap();
    let psnr = told[0]["psnr"].as_f64().unwrap_or_else(|| panic!("{told}"));
    assert!(psnr > 35.0, "{psnr}");

    works(
        here,
        "denoise p.###.png -o b.mp4 --rate 29.97 --strength 0 --device cpu",
    );
    let made = pictures(here, "b.mp4");
    let facts = ["codec_name", "pix_fmt", "avg_frame_rate", "color_space"]
        .map(|f| made[f].as_str().unwrap());
    assert_eq!(facts, ["hevc", "yuv420p10le", "30000/1001", "bt709"]);
    assert_eq!(times(here, "b.mp4", "v:0").len(), 4);
    works(
        here,
        "denoise p.###.png -o b.mkv --encoder ffv1 --device cpu",
    );
    let made = pictures(here, "b.mkv");
    assert_eq!(
        (&made["pix_fmt"], &made["avg_frame_rate"]),
        (&"yuv444p16le".into(), &"25/1".into())
    );
    for (line, part) in [
        (
            "denoise a.mkv -o one.png",
            "a.mkv is a film, but one.png is an image",
        ),
        (
            "denoise a.mkv -o b.mkv --rate 25",
            "--rate is for numbered pictures",
        ),
        ("denoise p.003.png -o c.png --crf 3", "--crf is for films"),
    ] {
        let out = limpid(here, &format!("{line} --device cpu"));
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains(part), "{}", said(&out));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_film_is_none() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        "-f lavfi -i testsrc2=s=320x240:r=25:d=20,noise=alls=12:allf=t -c:v libx264 -preset ultrafast a.mp4",
    );
    let results = here.join("results");
    std::fs::create_dir(&results).unwrap();
    let line = "denoise a.mp4 -o results/b.mp4 --device cpu";
    let mut child = command(here).args(line.split(' ')).spawn().unwrap();
    while std::fs::read_dir(&results).unwrap().count() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(&results).unwrap().count(), 0);
    // Nothing is left in the folder for temporary files, which is this one.
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 2);
}

#[test]
fn several_films_go_to_a_folder() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    for name in ["a.mp4", "b.mkv"] {
        ffmpeg(
            here,
            &format!("{PICTURES} -c:v libx264 -preset ultrafast {name}"),
        );
    }
    works(here, "denoise a.mp4 b.mkv -o out/ --device cpu");
    for name in ["a.mp4", "b.mkv"] {
        assert_times(here, name, &format!("out/{name}"), "v:0");
    }
}

#[test]
fn films_play_side_by_side() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!("{PICTURES} -c:v libx264 -preset ultrafast a.mp4"),
    );
    ffmpeg(
        here,
        "-i a.mp4 -vf negate -c:v ffv1 -pix_fmt yuv422p10le b.mkv",
    );
    let out = limpid(here, "compare a.mp4 b.mkv --html page.html");
    assert!(out.status.success(), "{}", said(&out));
    let text = std::fs::read_to_string(here.join("page.html")).unwrap();
    assert_eq!(text.matches("base64,").count(), 2);
    if crate::browser::left_out() {
        return;
    }
    let mut browser = crate::browser::Browser::open(&here.join("page.html"), (800, 600));
    let seen = "new Promise(done => { const wait = () => all.every(f => f.readyState > 1) ? \
        done(all.map(f => f.videoWidth)) : setTimeout(wait, 50); wait(); })";
    assert_eq!(browser.value(seen), serde_json::json!([96, 96]));
    assert_eq!(browser.text("#clock"), "0.00 s");
    // Frame by frame, both show the same time.
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    let times = "new Promise(done => setTimeout(() => done(all.map(f => Math.round(100 * f.currentTime))), 500))";
    assert_eq!(browser.value(times), serde_json::json!([8, 8]));
    let place = browser.place("#stage");
    let middle = place.y + place.height / 2.0;
    browser.move_to((place.x + 0.25 * place.width, middle));
    let cut = browser.value("all[1].style.clipPath").to_string();
    assert!(cut.contains("25"), "{cut}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}
