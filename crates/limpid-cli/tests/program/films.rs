//! Films of editors through the program and the installed ffmpeg: what ffprobe says of a result is what it said of the source.

use crate::{command, limpid, said, works};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Ten frames of 96 by 64 pixels with noise.
pub(crate) const PICTURES: &str = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4,noise=alls=12:allf=t";

/// A folder for a test; `None` if it was asked to leave out tests with ffmpeg.
pub(crate) fn folder() -> Option<tempfile::TempDir> {
    let left_out = std::env::var_os("LIMPID_FFMPEG").is_some_and(|named| named == "none");
    (!left_out).then(|| tempfile::tempdir().unwrap())
}

/// Runs ffmpeg in a folder; spaces separate arguments.
pub(crate) fn ffmpeg(folder: &Path, line: &str) {
    let out = Command::new("ffmpeg")
        .args("-hide_banner -nostdin -v error -y".split(' '))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap_or_else(|e| {
            panic!("these tests need ffmpeg on the path (apt-get install ffmpeg): {e}")
        });
    assert!(out.status.success(), "{line}: {}", said(&out));
}

/// What ffprobe says about a file.
pub(crate) fn probe(folder: &Path, name: &str, asked: &str) -> Value {
    let out = Command::new("ffprobe")
        .args("-v error -of json".split(' '))
        .args(asked.split(' '))
        .arg(name)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(out.status.success(), "{name}: {}", said(&out));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// The first stream of pictures.
pub(crate) fn pictures(folder: &Path, name: &str) -> Value {
    probe(folder, name, "-select_streams v:0 -show_streams")["streams"][0].take()
}

/// Facts of the pictures that must not change.
pub(crate) const KEPT: [&str; 11] = [
    "codec_name",
    "width",
    "height",
    "pix_fmt",
    "color_range",
    "color_space",
    "color_transfer",
    "color_primaries",
    "chroma_location",
    "sample_aspect_ratio",
    "avg_frame_rate",
];

pub(crate) fn assert_kept(folder: &Path, from: &str, to: &str, facts: &[&str]) {
    let (before, after) = (pictures(folder, from), pictures(folder, to));
    for fact in facts {
        assert_eq!(before[*fact], after[*fact], "{fact}: {from}, {to}");
    }
}

/// The times of the frames in seconds, in the order in which they are shown.
pub(crate) fn times(folder: &Path, name: &str, stream: &str) -> Vec<f64> {
    let asked = format!("-select_streams {stream} -show_entries packet=pts_time");
    let packets = probe(folder, name, &asked);
    let time = |p: &Value| p["pts_time"].as_str().unwrap().parse().unwrap();
    let mut times: Vec<f64> = (packets["packets"].as_array().unwrap().iter())
        .map(time)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

pub(crate) fn assert_times(folder: &Path, from: &str, to: &str, stream: &str) {
    let (before, after) = (times(folder, from, stream), times(folder, to, stream));
    assert_eq!(before.len(), after.len(), "{from}, {to}");
    for (a, b) in before.iter().zip(&after) {
        assert!((a - b).abs() < 0.0015, "{before:?}\n{after:?}");
    }
}

/// How much frames differ from their neighbours: noise does, a picture hardly.
pub(crate) fn spread(folder: &Path, name: &str) -> f64 {
    let out = Command::new("ffmpeg")
        .args(["-v", "error", "-noautorotate", "-i", name])
        .args("-map 0:v:0 -vf format=gray16le -f rawvideo -".split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    let of = |p: &[u8]| f64::from(u16::from_le_bytes([p[0], p[1]])) / 65535.0;
    let pixels: Vec<f64> = out.stdout.chunks_exact(2).map(of).collect();
    let steps = pixels.windows(3).map(|w| (w[0] + w[2] - 2.0 * w[1]).abs());
    steps.sum::<f64>() / pixels.len() as f64
}

pub(crate) fn denoise(folder: &Path, from: &str, to: &str) -> String {
    let out = limpid(folder, &format!("denoise {from} -o {to} --device cpu"));
    assert!(out.status.success(), "{from}: {}", said(&out));
    let (before, after) = (spread(folder, from), spread(folder, to));
    assert!(after < 0.9 * before, "{from}: {before} {after}");
    said(&out)
}

#[test]
fn hdr_stays_hdr() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    let light = "log-level=error:crf=8:hdr10=1:repeat-headers=1:chromaloc=2:max-cll=1000,400:\
        master-display=G(8500,39850)B(6550,2300)R(35400,14600)WP(15635,16450)L(10000000,1)";
    ffmpeg(
        here,
        &format!(
            "{PICTURES} -pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params {light} -color_primaries bt2020 \
             -color_trc smpte2084 -colorspace bt2020nc -color_range tv -chroma_sample_location topleft -tag:v hvc1 a.mp4"
        ),
    );
    for (to, more) in [("b.mp4", ""), ("c.mkv", "")] {
        let told = denoise(here, "a.mp4", &format!("{to}{more}"));
        assert!(!told.contains("limpid: "), "{told}");
        assert_kept(here, "a.mp4", to, &KEPT);
        let asked = "-select_streams v:0 -read_intervals %+#1 -show_frames";
        let data = |name: &str| {
            let frame = probe(here, name, asked)["frames"][0]["side_data_list"].take();
            let all = frame.as_array().unwrap_or(&Vec::new()).clone();
            let of = |kind: &str| {
                let is = |d: &&Value| d["side_data_type"].as_str() == Some(kind);
                all.iter().find(is).cloned()
            };
            ["Mastering display metadata", "Content light level metadata"].map(of)
        };
        assert!(data("a.mp4").iter().all(Option::is_some));
        assert_eq!(data("a.mp4"), data(to));
    }
    assert_eq!(pictures(here, "b.mp4")["codec_tag_string"], "hvc1");
}

#[test]
fn bits_chroma_and_range_stay() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    let tags = "-color_primaries bt709 -color_trc bt709 -colorspace bt709";
    for (samples, codec, name) in [
        ("yuv422p10le", "prores_ks -profile:v 1", "prores.mov"),
        ("yuv444p10le", "libx264 -preset ultrafast", "fine.mp4"),
        ("yuvj420p", "libx264 -preset ultrafast", "full.mp4"),
        ("gray", "ffv1", "grey.mkv"),
        ("yuv420p16le", "ffv1", "deep.mkv"),
        ("yuv422p12le", "ffv1", "twelve.mkv"),
        ("yuv411p", "ffv1", "dv.mkv"),
        ("gbrp", "ffv1", "rgb.mkv"),
        (
            "yuv420p",
            "libvpx-vp9 -crf 20 -b:v 0 -cpu-used 8",
            "web.webm",
        ),
        ("yuvj422p", "mjpeg -q:v 2", "jpegs.avi"),
    ] {
        let tags = if samples == "gbrp" { "" } else { tags };
        let made = format!("{PICTURES} -pix_fmt {samples} -c:v {codec} {tags} {name}");
        ffmpeg(here, &made);
        let to = format!("out-{name}");
        denoise(here, name, &to);
        assert_kept(here, name, &to, &KEPT);
        assert_times(here, name, &to, "v:0");
    }
    assert_kept(here, "prores.mov", "out-prores.mov", &["profile"]);
    // Nothing is lost on the way from ProRes to ProRes.
    let size = |name: &str| std::fs::metadata(here.join(name)).unwrap().len();
    assert!(2 * size("out-prores.mov") > size("prores.mov"));
}

#[test]
fn everything_else_in_a_film_is_kept() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    std::fs::write(
        here.join("s.srt"),
        "1\n00:00:00,050 --> 00:00:00,250\nHello\n",
    )
    .unwrap();
    let chapters = ";FFMETADATA1\ntitle=Journey\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=200\ntitle=One\n\
        [CHAPTER]\nTIMEBASE=1/1000\nSTART=200\nEND=400\ntitle=Two\n";
    std::fs::write(here.join("m.txt"), chapters).unwrap();
    std::fs::write(here.join("f.ttf"), "letters").unwrap();
    ffmpeg(
        here,
        &format!(
            "-itsoffset 0.12 {PICTURES} -f lavfi -i sine=d=0.5 -f lavfi -i sine=f=880:d=0.5 -i s.srt -i m.txt -map 1:a -map 0:v \
             -map 2:a -map 3:s -map_metadata 4 -c:v libx264 -preset ultrafast -c:a:0 aac -c:a:1 ac3 -c:s srt \
             -metadata:s:a:0 language=eng -metadata:s:a:1 language=ces -metadata:s:a:1 title=Talk -disposition:a:1 comment \
             -metadata:s:v language=fra -attach f.ttf -metadata:s:t mimetype=application/x-truetype-font a.mkv"
        ),
    );
    let told = denoise(here, "a.mkv", "b.mkv");
    assert!(!told.contains("limpid: "), "{told}");
    let facts = |name: &str| {
        let asked = "-show_entries stream=codec_name,codec_type:stream_tags=language,title,filename:stream_disposition=default,comment:\
            format_tags=title:chapter=start_time,end_time:chapter_tags=title";
        probe(here, name, asked)
    };
    let before = facts("a.mkv");
    assert_eq!(before["streams"].as_array().unwrap().len(), 5);
    assert_eq!(before["chapters"].as_array().unwrap().len(), 2);
    assert_eq!(before, facts("b.mkv"));
    // Sound and pictures begin when they began: 0.12 s apart.
    for stream in ["v:0", "a:0", "a:1", "s:0"] {
        assert_times(here, "a.mkv", "b.mkv", stream);
    }
    let gap = times(here, "b.mkv", "v:0")[0] - times(here, "b.mkv", "a:0")[0];
    assert!((0.1..0.16).contains(&gap), "{gap}");

    // Containers that hold less get what they can hold, and it is told what they cannot.
    let told = denoise(here, "a.mkv", "c.webm");
    assert!(
        told.contains(".webm does not hold attachment (ttf, f.ttf)"),
        "{told}"
    );
    let streams = probe(here, "c.webm", "-show_streams");
    let codecs: Vec<&str> = (streams["streams"].as_array().unwrap().iter())
        .map(|s| s["codec_name"].as_str().unwrap())
        .collect();
    assert_eq!(codecs, ["opus", "vp9", "opus", "webvtt"]);
    let told = denoise(here, "a.mkv", "d.mp4");
    assert!(told.contains("attachment"), "{told}");
    let streams = probe(here, "d.mp4", "-show_streams -show_chapters");
    assert_eq!(streams["chapters"].as_array().unwrap().len(), 2);
    let codecs: Vec<&str> = (streams["streams"].as_array().unwrap().iter())
        .filter_map(|s| s["codec_name"].as_str())
        .take(4)
        .collect();
    assert_eq!(codecs, ["aac", "h264", "ac3", "mov_text"]);
}

#[test]
fn uneven_times_stay() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!(
            "{PICTURES} -f lavfi -i sine=d=0.6 -vf setpts='(N*0.04+gt(N,4)*0.13+0.003*mod(N,2))/TB' -fps_mode passthrough \
             -enc_time_base 1:90000 -c:v libx264 -preset ultrafast -c:a aac -video_track_timescale 90000 a.mp4"
        ),
    );
    for to in ["b.mp4", "c.mkv", "d.mov"] {
        denoise(here, "a.mp4", to);
        // Matroska begins with the first sound, before time 0 in MP4: what counts is the time from the sound to each frame.
        let from_sound = |name: &str| {
            let begin = times(here, name, "a:0")[0];
            let pictures = times(here, name, "v:0").into_iter();
            pictures.map(|t| t - begin).collect::<Vec<f64>>()
        };
        let (before, after) = (from_sound("a.mp4"), from_sound(to));
        assert_eq!(before.len(), after.len());
        let apart = before.iter().zip(&after).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 0.0015, "{before:?}\n{after:?}");
    }
}

#[test]
fn turned_films_stay_turned() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!("{PICTURES} -c:v libx264 -preset ultrafast a.mp4"),
    );
    // The matrix of a phone that is held upright.
    ffmpeg(here, "-i a.mp4 -c copy -metadata:s:v rotate=90 t.mp4");
    let turn = |name: &str| pictures(here, name)["side_data_list"][0]["rotation"].clone();
    if turn("t.mp4").is_null() {
        // Newer versions of ffmpeg have an option for it.
        ffmpeg(here, "-display_rotation 90 -i a.mp4 -c copy t.mp4");
    }
    assert_eq!(turn("t.mp4"), 90);
    denoise(here, "t.mp4", "b.mp4");
    assert_kept(here, "t.mp4", "b.mp4", &KEPT);
    assert_eq!(turn("b.mp4"), 90);
    // y4m cannot say it: the frames themselves are turned.
    works(here, "denoise t.mp4 -o c.y4m --device cpu");
    let bytes = std::fs::read(here.join("c.y4m")).unwrap();
    assert!(bytes.starts_with(b"YUV4MPEG2 W64 H96 "));
}

#[test]
fn fields_are_filtered_apart() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    let fast =
        "-f lavfi -i testsrc2=s=96x64:r=50:d=0.4,noise=alls=12:allf=t -f lavfi -i sine=d=0.4";
    for (scan, codec, name) in [
        ("tff", "libx264 -preset ultrafast", "a.mp4"),
        ("bff", "libx264 -preset ultrafast", "b.mp4"),
        ("tff", "mpeg2video -q:v 2 -c:a mp2", "c.mpg"),
        ("tff", "prores_ks", "d.mov"),
    ] {
        let made =
            format!("{fast} -vf interlace=scan={scan} -flags +ildct+ilme -c:v {codec} {name}");
        ffmpeg(here, &made);
        let to = format!("out-{name}");
        works(here, &format!("denoise {name} -o {to} --device cpu"));
        let asked = "-select_streams v:0 -read_intervals %+#1 -show_entries frame=interlaced_frame,top_field_first:stream=field_order";
        let order = |name: &str| probe(here, name, asked);
        assert_eq!(order(name)["frames"][0]["interlaced_frame"], 1, "{name}");
        assert_eq!(order(name), order(&to), "{name}");
        assert_kept(here, name, &to, &KEPT);
    }
    // The same pictures as fields are the result of the two films of fields.
    ffmpeg(
        here,
        "-i d.mov -map 0:v -pix_fmt yuv422p10le -strict -1 -f yuv4mpegpipe d.y4m",
    );
    ffmpeg(
        here,
        "-i d.mov -map 0:v -vf il=l=d:c=d,crop=96:32:0:0 -strict -1 -f yuv4mpegpipe even.y4m",
    );
    works(here, "denoise d.y4m -o whole.y4m --device cpu --fields top");
    works(
        here,
        "denoise even.y4m -o clean.y4m --device cpu --fields none",
    );
    ffmpeg(
        here,
        "-i whole.y4m -vf il=l=d:c=d,crop=96:32:0:0 -strict -1 -f yuv4mpegpipe part.y4m",
    );
    let frames = |name: &str| {
        let bytes = std::fs::read(here.join(name)).unwrap();
        let start = bytes.iter().position(|b| *b == b'\n').unwrap();
        bytes[start..].to_vec()
    };
    assert!(frames("part.y4m") == frames("clean.y4m"));
}

#[test]
fn encoders_are_chosen() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        &format!("{PICTURES} -pix_fmt yuv420p10le -c:v libx264 -preset ultrafast a.mp4"),
    );
    for (options, to, codec, samples) in [
        ("--encoder prores", "b.mov", "prores", "yuv422p10le"),
        ("--encoder ffv1", "b.mkv", "ffv1", "yuv420p10le"),
        (
            "--encoder x265 --crf 20 --preset ultrafast",
            "c.mp4",
            "hevc",
            "yuv420p10le",
        ),
        ("--encoder av1 --preset 12", "d.mkv", "av1", "yuv420p10le"),
        (
            "--preset ultrafast --crf 30",
            "f.mp4",
            "h264",
            "yuv420p10le",
        ),
        ("", "g.webm", "vp9", "yuv420p10le"),
    ] {
        let line = format!("denoise a.mp4 -o {to} --device cpu {options}");
        works(here, line.trim());
        let made = pictures(here, to);
        assert_eq!(
            (&made["codec_name"], &made["pix_fmt"]),
            (&codec.into(), &samples.into()),
            "{line}"
        );
    }
    let size = |name: &str| std::fs::metadata(here.join(name)).unwrap().len();
    works(
        here,
        "denoise a.mp4 -o h.mp4 --device cpu --preset ultrafast",
    );
    assert!(size("f.mp4") < size("h.mp4"));
    let more = ["--ffmpeg", "-metadata comment='from here'"];
    let line = "denoise a.mp4 -o i.mp4 --device cpu";
    let out = command(here)
        .args(line.split(' '))
        .args(more)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", said(&out));
    let tags = probe(here, "i.mp4", "-show_entries format_tags=comment");
    assert_eq!(tags["format"]["tags"]["comment"], "from here");
    // Eight bits where the encoder has no more: it is told.
    let out = limpid(here, "denoise a.mp4 -o j.mkv --device cpu --encoder mpeg4");
    assert!(
        out.status.success() && said(&out).contains("stores yuv420p, less than"),
        "{}",
        said(&out)
    );

    for (options, code, part) in [
        ("--encoder nothere", 1, "has no encoder nothere"),
        (
            "--encoder prores --crf 3",
            1,
            "--crf is not for the encoder prores_ks",
        ),
        (
            "--encoder ffv1 --preset slow",
            1,
            "--preset is not for the encoder ffv1",
        ),
    ] {
        let out = limpid(
            here,
            &format!("denoise a.mp4 -o z.mov --device cpu {options}"),
        );
        assert_eq!(out.status.code(), Some(code), "{options}: {}", said(&out));
        assert!(said(&out).contains(part), "{}", said(&out));
    }
    let out = limpid(here, "denoise a.mp4 -o z.y4m --device cpu --crf 3");
    assert_eq!(out.status.code(), Some(2), "{}", said(&out));
    assert!(said(&out).contains("--crf is for films that ffmpeg encodes"));
}
