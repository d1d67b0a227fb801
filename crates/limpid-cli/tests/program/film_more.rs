//! Films of broadcast and tape: their colours, data and time codes, and fields that a film does not tell of.

use crate::films::{
    KEPT, PICTURES, assert_kept, assert_times, denoise, ffmpeg, folder, pictures, probe,
};
use crate::{said, works};
use serde_json::Value;

#[test]
fn colours_of_broadcast_and_of_tapes_stay() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    for (name, codec, tags) in [
        (
            "hlg.mp4",
            "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params log-level=error",
            "bt2020 arib-std-b67 bt2020nc",
        ),
        (
            "pal.mpg",
            "-c:v mpeg2video -q:v 2",
            "bt470bg gamma28 bt470bg",
        ),
        (
            "pal.mkv",
            "-c:v libx264 -preset ultrafast",
            "bt470bg gamma28 bt470bg",
        ),
        (
            "ntsc.mp4",
            "-c:v libx264 -preset ultrafast",
            "smpte170m smpte170m smpte170m",
        ),
    ] {
        let [primaries, curve, matrix] = tags.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{tags}")
        };
        ffmpeg(
            here,
            &format!(
                "{PICTURES} {codec} -color_primaries {primaries} -color_trc {curve} -colorspace {matrix} -color_range tv {name}"
            ),
        );
        let to = format!("out-{name}");
        denoise(here, name, &to);
        assert_kept(here, name, &to, &KEPT);
        assert_times(here, name, &to, "v:0");
        let made = pictures(here, &to);
        assert_eq!(made["color_space"], matrix, "{name}");
        assert_ne!(made["color_transfer"], Value::Null, "{name}");
    }
}

#[test]
fn data_and_time_codes_stay() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!("{PICTURES} -timecode 01:02:03:04 -c:v libx264 -preset ultrafast a.mov"),
    );
    let code = |name: &str| {
        let told = probe(
            here,
            name,
            "-show_entries stream=codec_type:stream_tags=timecode",
        );
        told["streams"].as_array().unwrap().clone()
    };
    assert_eq!(code("a.mov").len(), 2);
    works(here, "denoise a.mov -o b.mov --device cpu");
    assert_eq!(code("a.mov"), code("b.mov"));
    works(here, "denoise a.mov -o c.mkv --device cpu");
    assert_eq!(code("c.mkv")[0]["tags"]["TIMECODE"], "01:02:03:04");

    std::fs::write(here.join("positions.bin"), [7; 500]).unwrap();
    ffmpeg(
        here,
        &format!(
            "{PICTURES} -f data -i positions.bin -map 0 -map 1 -c:v libx264 -preset ultrafast -c:d copy a.ts"
        ),
    );
    works(here, "denoise a.ts -o b.ts --device cpu");
    let data = |name: &str| {
        let all = probe(here, name, "-select_streams d:0 -show_packets -show_data");
        let packets = all["packets"].as_array().unwrap().clone();
        packets
            .iter()
            .map(|p| p["data"].to_string())
            .collect::<String>()
    };
    assert!(data("a.ts").contains("0707"));
    assert_eq!(data("a.ts"), data("b.ts"));
}

#[test]
fn fields_that_a_film_does_not_tell_of_are_found() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    let moving = "-f lavfi -i testsrc2=s=192x128:r=25:d=0.8";
    let noise = "noise=alls=12:allf=t";
    let order = |name: &str| pictures(here, name)["field_order"].clone();
    for scan in ["tff", "bff"] {
        let (from, to) = (format!("{scan}.mkv"), format!("out-{scan}.mkv"));
        ffmpeg(
            here,
            &format!(
                "-f lavfi -i mandelbrot=s=320x240:r=50,trim=duration=0.8 \
                 -vf interlace=scan={scan}:lowpass=off,setfield=prog,{noise} -pix_fmt yuv420p -c:v ffv1 {from}"
            ),
        );
        assert_eq!(order(&from), "progressive");
        let out = crate::limpid(here, &format!("denoise {from} -o {to} --device cpu"));
        assert!(out.status.success(), "{}", said(&out));
        let first = if scan == "tff" { "upper" } else { "lower" };
        let told = format!("{from}: its frames consist of two fields, the {first} one first");
        assert!(said(&out).contains(&told), "{}", said(&out));
        let stored = order(&to).as_str().unwrap_or_default().to_owned();
        assert!(stored.starts_with(&scan[..1]), "{scan}: {stored}");
        // The same film that says so, or that is told to be so.
        let named = if scan == "tff" { "top" } else { "bottom" };
        works(
            here,
            &format!("denoise {from} -o named.mkv --device cpu --fields {named}"),
        );
        let frames = |name: &str| {
            let asked = "-select_streams v:0 -show_packets -show_data_hash md5";
            probe(here, name, asked)["packets"].clone()
        };
        assert_eq!(
            frames(&to)[3]["data_hash"],
            frames("named.mkv")[3]["data_hash"]
        );
        works(
            here,
            &format!("denoise {from} -o whole.mkv --device cpu --fields none"),
        );
        assert_eq!(order("whole.mkv"), "progressive");
    }
    // Whole frames: moving, fading, standing still.
    for (name, filter) in [
        ("moving.mkv", noise.to_owned()),
        ("fade.mkv", format!("{noise},fade=t=out:d=0.8")),
        (
            "still.mkv",
            format!("trim=end_frame=1,loop=20:1,setpts=N/25/TB,{noise}"),
        ),
    ] {
        ffmpeg(here, &format!("{moving} -vf {filter} -c:v ffv1 {name}"));
        let out = crate::limpid(here, &format!("denoise {name} -o out.mkv --device cpu"));
        assert!(!said(&out).contains("two fields"), "{name}: {}", said(&out));
        assert_eq!(order("out.mkv"), "progressive", "{name}");
    }
}
