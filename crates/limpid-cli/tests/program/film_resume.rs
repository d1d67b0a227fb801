//! Films whose run was interrupted go on, and become what they would have been.

use crate::films::{assert_times, ffmpeg, folder, pictures, probe, times};
use crate::{command, limpid, said, works};
use std::path::Path;
use std::process::Command;

/// The pixels of all frames.
fn pixels(folder: &Path, name: &str) -> Vec<u8> {
    let out = Command::new("ffmpeg")
        .args(["-v", "error", "-i", name])
        .args("-map 0:v:0 -fps_mode passthrough -f framemd5 -".split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(out.status.success(), "{name}: {}", said(&out));
    // The fifth column, the length of a frame, may differ.
    let text = String::from_utf8(out.stdout).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let hashes = lines.filter_map(|l| l.rsplit(',').next());
    hashes.collect::<String>().into_bytes()
}

fn streams(folder: &Path, name: &str) -> Vec<String> {
    let all = probe(folder, name, "-show_streams");
    let facts = [
        "codec_name",
        "codec_tag_string",
        "pix_fmt",
        "color_space",
        "color_transfer",
        "r_frame_rate",
        "time_base",
        "start_time",
        "field_order",
    ];
    let line = |s: &serde_json::Value| facts.map(|f| s[f].to_string()).join(" ");
    all["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect()
}

/// Interrupts a run when its first part is there; returns whether it had not ended before.
#[cfg(unix)]
fn interrupt(folder: &Path, line: &str, parts: &str) -> bool {
    let mut child = command(folder).args(line.split(' ')).spawn().unwrap();
    while !folder.join(parts).join("parts.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    !child.wait().unwrap().success()
}

/// 514 frames with uneven times, a cut, more noise after it, sound and subtitles.
fn source(folder: &Path) {
    let text = "1\n00:00:01,000 --> 00:00:03,000\nhello\n\n2\n00:00:17,000 --> 00:00:18,000\nend\n";
    std::fs::write(folder.join("a.srt"), text).unwrap();
    ffmpeg(
        folder,
        "-f lavfi -i testsrc2=s=96x64:r=30000/1001:d=10,noise=alls=9:allf=t \
         -f lavfi -i mandelbrot=s=96x64:r=30000/1001,noise=alls=20:allf=t,trim=duration=10 \
         -f lavfi -i sine=d=20 -i a.srt \
         -filter_complex [0:v][1:v]concat=n=2,select='mod(n,7)',format=yuv420p[v] \
         -map [v] -map 2 -map 3 -fps_mode passthrough -enc_time_base 1:30000 \
         -c:v libx264 -preset ultrafast -c:a aac -c:s srt -metadata title=Long a.mkv",
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_film_goes_on() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    source(here);
    let line = "denoise a.mkv --encoder ffv1 --device cpu";
    works(here, &format!("{line} -o whole.mkv"));
    let resumed = format!("{line} -o b.mkv --resume");
    assert!(interrupt(here, &resumed, "b.mkv.limpid"));
    assert!(!here.join("b.mkv").exists());
    let out = limpid(here, &resumed);
    assert!(out.status.success(), "{}", said(&out));
    assert!(said(&out).contains("goes on after "), "{}", said(&out));
    assert!(!here.join("b.mkv.limpid").exists());
    assert_times(here, "whole.mkv", "b.mkv", "v:0");
    assert_times(here, "a.mkv", "b.mkv", "v:0");
    assert_times(here, "whole.mkv", "b.mkv", "a:0");
    assert_eq!(streams(here, "whole.mkv"), streams(here, "b.mkv"));
    assert!(pixels(here, "whole.mkv") == pixels(here, "b.mkv"));
    let again = limpid(here, &resumed);
    assert!(said(&again).contains("nothing to do"), "{}", said(&again));
}

/// Encoders that reorder frames, and containers with other ideas of time.
#[cfg(unix)]
#[test]
fn parts_become_one_film_in_other_containers() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    source(here);
    for (name, options) in [
        ("b.mp4", "--preset veryfast"),
        ("b.ts", "--preset veryfast"),
    ] {
        let line = format!("denoise a.mkv --device cpu --quality fast {options}");
        works(here, &format!("{line} -o whole-{name}"));
        let resumed = format!("{line} -o {name} --resume");
        assert!(
            interrupt(here, &resumed, &format!("{name}.limpid")),
            "{name}"
        );
        works(here, &resumed);
        assert_times(here, &format!("whole-{name}"), name, "v:0");
        assert_times(here, &format!("whole-{name}"), name, "a:0");
        assert_eq!(streams(here, &format!("whole-{name}")), streams(here, name));
        assert!(!here.join(format!("{name}.limpid")).exists());
    }
}

#[cfg(unix)]
#[test]
fn parts_of_other_settings_are_not_used() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    source(here);
    let line = "denoise a.mkv -o b.mkv --device cpu --quality fast --encoder ffv1 --resume";
    assert!(interrupt(here, line, "b.mkv.limpid"));
    let out = limpid(here, &format!("{line} --chroma 0.5"));
    assert!(out.status.success(), "{}", said(&out));
    assert!(said(&out).contains("it begins anew"), "{}", said(&out));
    assert_eq!(
        times(here, "a.mkv", "v:0").len(),
        times(here, "b.mkv", "v:0").len()
    );
    assert_eq!(pictures(here, "b.mkv")["codec_name"], "ffv1");
}

#[test]
fn pictures_of_a_film_go_on() {
    let Some(folder) = folder() else { return };
    let here = folder.path();
    ffmpeg(
        here,
        "-f lavfi -i testsrc2=s=96x64:d=0.8,noise=alls=12:allf=t -c:v ffv1 a.mkv",
    );
    let line = "denoise a.mkv --device cpu";
    works(here, &format!("{line} -o whole.###.png"));
    works(here, &format!("{line} -o p.###.png"));
    for number in 11..20 {
        std::fs::remove_file(here.join(format!("p.{number:03}.png"))).unwrap();
    }
    works(here, &format!("{line} -o p.###.png --resume"));
    for number in 0..20 {
        let read = |name: &str| std::fs::read(here.join(format!("{name}.{number:03}.png")));
        assert!(read("whole").unwrap() == read("p").unwrap(), "{number}");
    }
    let out = limpid(here, &format!("{line} -o q.###.png --method taa --resume"));
    assert!(said(&out).contains("--resume"), "{}", said(&out));
}
