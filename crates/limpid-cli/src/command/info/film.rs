//! The properties of a film: size, frames, samples, and what ffprobe tells besides.

use crate::say::tell;
use crate::video::{self, Probe, Stream};
use anyhow::Result;
use limpid::io::y4m::Chroma;
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(path: &Path, as_json: bool) -> Result<()> {
    if video::is_by_ffmpeg(path) {
        return by_ffmpeg(&Probe::of(path)?, as_json);
    }
    let (header, frames) = video::look(path)?;
    let chroma = match header.chroma {
        Chroma::Mono => "grey",
        Chroma::Sampled(1, 1) => "4:4:4",
        Chroma::Sampled(2, 1) => "4:2:2",
        Chroma::Sampled(4, 1) => "4:1:1",
        Chroma::Sampled(..) => "4:2:0",
    };
    if as_json {
        let facts = json!({
            "file": path.display().to_string(),
            "format": "film",
            "width": header.size.width,
            "height": header.size.height,
            "frames": frames,
            "rate": header.rate().map(|(a, b)| f64::from(a) / f64::from(b)),
            "chroma": chroma,
            "bits": header.bits,
            "range": range(header.full_range),
            "interlaced": header.is_interlaced(),
        });
        tell!("{facts:#}");
    } else {
        tell!("{}: film", path.display());
        tell!("  size         {}", header.size);
        tell!("  frames       {frames}");
        if let Some(rate) = header.rate() {
            tell!("  rate         {} frames/s", per_second(rate));
        }
        let fields = if header.is_interlaced() {
            ", interlaced"
        } else {
            ""
        };
        tell!("  samples      {chroma}, {} bit{fields}", header.bits);
    }
    Ok(())
}

fn range(full: bool) -> &'static str {
    if full { "full" } else { "limited" }
}

fn per_second((count, seconds): (u32, u32)) -> String {
    let rate = f64::from(count) / f64::from(seconds);
    let text = format!("{rate:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Hours, minutes and seconds.
fn clock(seconds: f64) -> String {
    let whole = seconds as u64;
    let (h, m, s) = (whole / 3600, whole / 60 % 60, seconds % 60.0);
    format!("{h}:{m:02}:{s:06.3}")
}

/// The colours of a film in words.
fn colours(video: &Stream) -> String {
    let name = |value: &Option<String>| value.clone().filter(|v| v != "unknown");
    let transfer = name(&video.color_transfer).map(|t| match t.as_str() {
        "smpte2084" => "PQ (smpte2084)".to_owned(),
        "arib-std-b67" => "HLG (arib-std-b67)".to_owned(),
        other => other.to_owned(),
    });
    let parts = [
        ("primaries", name(&video.color_primaries)),
        ("transfer", transfer),
        ("matrix", name(&video.color_space)),
        (
            "range",
            name(&video.color_range).map(|r| range(r == "pc").to_owned()),
        ),
        ("chroma", name(&video.chroma_location)),
    ];
    let told = parts
        .into_iter()
        .filter_map(|(what, value)| Some(format!("{what} {}", value?)));
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        "not told".to_owned()
    } else {
        told.join(", ")
    }
}

fn by_ffmpeg(probe: &Probe, as_json: bool) -> Result<()> {
    let video = probe.video();
    let frames = probe.frames();
    if as_json {
        let others = probe.streams.iter().filter(|s| s.index != video.index);
        let others: Vec<Value> = others
            .map(|s| json!({"kind": s.codec_type, "codec": s.codec_name, "language": s.tags.get("language")}))
            .collect();
        let facts = json!({
            "file": probe.path.display().to_string(),
            "format": "film",
            "container": probe.format.format_name,
            "codec": video.codec_name,
            "profile": video.profile,
            "width": video.width,
            "height": video.height,
            "frames": frames.map(|f| f.0),
            "frames_exact": frames.map(|f| f.1),
            "rate": video.rate().map(|(a, b)| f64::from(a) / f64::from(b)),
            "seconds": probe.seconds(),
            "samples": video.pix_fmt,
            "primaries": video.color_primaries,
            "transfer": video.color_transfer,
            "matrix": video.color_space,
            "range": video.color_range,
            "chroma_location": video.chroma_location,
            "fields": video.upper_field_first().map(|top| if top { "top" } else { "bottom" }),
            "rotation": video.rotation(),
            "light": video.light().map(|(most, average)| json!([most, average])),
            "display": video.mastering().map(|m| json!([m.least, m.most])),
            "streams": others,
            "chapters": probe.chapters.len(),
        });
        tell!("{facts:#}");
        return Ok(());
    }
    let container = (probe.format.format_long_name.as_ref()).unwrap_or(&probe.format.format_name);
    tell!("{}: film, {container}", probe.path.display());
    let turned = video.rotation().map(|r| format!(", shown turned by {r}°"));
    let (width, height) = (video.width, video.height);
    tell!(
        "  size         {width}x{height}{}",
        turned.unwrap_or_default()
    );
    let rate = video.rate().map_or("unknown".to_owned(), per_second);
    let uneven = if video.is_uneven() { " on average" } else { "" };
    tell!("  rate         {rate} frames/s{uneven}");
    let length = probe.seconds().map_or("unknown".to_owned(), clock);
    let count = frames.map_or(String::new(), |(count, exact)| {
        format!(", {}{count} frames", if exact { "" } else { "about " })
    });
    tell!("  length       {length}{count}");
    let profile = video.profile.as_deref().filter(|p| *p != "unknown");
    let profile = profile.map_or(String::new(), |p| format!(" ({p})"));
    tell!("  codec        {}{profile}", video.codec_name);
    let fields = match video.upper_field_first() {
        Some(true) => ", interlaced, upper field first",
        Some(false) => ", interlaced, lower field first",
        None => "",
    };
    tell!(
        "  samples      {}{fields}",
        video.pix_fmt.as_deref().unwrap_or("unknown")
    );
    tell!("  colour       {}", colours(video));
    if let Some(display) = video.mastering() {
        tell!("  graded on    {} … {} cd/m²", display.least, display.most);
    }
    if let Some((most, average)) = video.light() {
        tell!("  light        at most {most} cd/m², {average} on average of a frame");
    }
    for stream in probe.streams.iter().filter(|s| s.index != video.index) {
        tell!("  {:<12} {}", stream.codec_type, described(stream));
    }
    if !probe.chapters.is_empty() {
        tell!("  chapters     {}", probe.chapters.len());
    }
    Ok(())
}

fn described(stream: &Stream) -> String {
    let rate = stream.sample_rate.as_ref().map(|r| format!("{r} Hz"));
    let channels = stream.channels.map(|c| format!("{c} channels"));
    let language = stream.tags.get("language").filter(|l| *l != "und").cloned();
    let title = stream
        .tags
        .get("title")
        .or_else(|| stream.tags.get("filename"));
    let parts = [
        Some(stream.codec_name.clone()),
        rate,
        channels,
        language,
        title.cloned(),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|p| !p.is_empty())
        .collect();
    parts.join(", ")
}
