//! What a film has besides its pictures: sound, subtitles, data, attachments.

use super::ffmpeg::{self, Process};
use super::probe::{Probe, Stream};
use std::path::Path;
use std::process::Stdio;

/// The only rate of sound that ffmpeg writes to MXF.
pub(super) const MXF_SOUND: [&str; 2] = ["-ar", "48000"];

/// A stream of the source on its way to the result.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// The filtered pictures.
    Pictures,
    /// As it is.
    Copied,
    /// Encoded again, with the encoder that ffmpeg has for the container, or this one.
    Encoded(Option<&'static str>),
    /// The container writes it by itself, from chapters or the time code.
    Made,
    /// The container cannot hold it.
    Dropped,
}

/// What becomes of each stream.
pub(super) fn fates(probe: &Probe, container: &str, folder: &Path) -> Vec<Fate> {
    let fate = |stream: &Stream| {
        if stream.index == probe.video().index {
            return Fate::Pictures;
        }
        let is_mov = matches!(container, "mov" | "mp4" | "m4v");
        let timecode = stream.codec_tag_string == "tmcd";
        // QuickTime stores chapters and time codes as streams, other containers as tags.
        if timecode || (stream.codec_type == "data" && stream.codec_name == "bin_data" && is_mov) {
            return Fate::Made;
        }
        // Others leave attachments out without a word.
        if stream.codec_type == "attachment" && container != "mkv" {
            return Fate::Dropped;
        }
        if works(probe, stream, container, &["copy"], folder) {
            return Fate::Copied;
        }
        let tried: &[Option<&'static str>] = match stream.codec_type.as_str() {
            // Sound without loss stays so where that is possible.
            "audio" if is_lossless(stream) => &[Some("alac"), Some("flac"), None],
            "audio" => &[None],
            "subtitle" => &[None, Some("mov_text"), Some("webvtt"), Some("subrip")],
            _ => &[],
        };
        let fits = |codec: &&Option<&'static str>| {
            let codec: Vec<&str> = codec.iter().copied().collect();
            works(probe, stream, container, &codec, folder)
        };
        match tried.iter().find(fits) {
            Some(codec) => Fate::Encoded(*codec),
            None => Fate::Dropped,
        }
    };
    probe.streams.iter().map(fate).collect()
}

fn is_lossless(stream: &Stream) -> bool {
    let name = stream.codec_name.as_str();
    name.starts_with("pcm_") || ["flac", "alac", "wavpack", "tta"].contains(&name)
}

/// Whether ffmpeg writes the stream alone into such a container: its own tables are the best list of what fits.
fn works(probe: &Probe, stream: &Stream, container: &str, codec: &[&str], folder: &Path) -> bool {
    // A transport stream takes anything, as data that nobody finds.
    let known_to_ts = [
        "aac",
        "ac3",
        "eac3",
        "mp2",
        "mp3",
        "opus",
        "dts",
        "dvb_subtitle",
    ];
    if container == "ts"
        && codec == ["copy"]
        && !known_to_ts.contains(&stream.codec_name.as_str())
        && ["audio", "subtitle"].contains(&stream.codec_type.as_str())
    {
        return false;
    }
    let try_it = folder.join(format!("try.{container}"));
    let mut command = ffmpeg::command();
    command.arg("-i").arg(&probe.path);
    if container == "mxf" {
        // Sound alone is none.
        let pictures = "color=s=256x144:r=25:d=1";
        command.args(["-f", "lavfi", "-i", pictures, "-map", "1:0"]);
        command.args(["-c:v", "mpeg2video"]);
    }
    command.args(["-map", &format!("0:{}", stream.index)]);
    for codec in codec {
        let option = match stream.codec_type.as_str() {
            "audio" => "-c:a",
            "subtitle" => "-c:s",
            "data" => "-c:d",
            _ => "-c",
        };
        command.args([option, codec]);
    }
    if container == "mxf" && codec != ["copy"] {
        command.args(MXF_SOUND);
    }
    command.args(["-t", "0.5"]).arg(&try_it);
    let process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
    let fits = process.is_ok_and(|p| p.finish(&probe.path).is_ok());
    // There is none if ffmpeg refused at once.
    let _ = std::fs::remove_file(&try_it);
    fits
}

/// A stream in words.
pub(super) fn in_words(stream: &Stream) -> String {
    let kind = match stream.codec_type.as_str() {
        "subtitle" => "subtitles",
        "attachment" => "attachment",
        "audio" => "sound",
        "" => "data",
        other => other,
    };
    let language = stream.tags.get("language").filter(|l| *l != "und");
    let name = stream.tags.get("filename").or(language);
    let codec = stream.codec_name.as_str();
    let inside: Vec<&str> = [codec, name.map_or("", String::as_str)]
        .into_iter()
        .filter(|part| !part.is_empty() && *part != "none")
        .collect();
    match inside.is_empty() {
        true => format!("{kind} (stream {})", stream.index),
        false => format!("{kind} ({})", inside.join(", ")),
    }
}
