//! What ffprobe says about a film.

use super::ffmpeg;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A film as ffprobe describes it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Probe {
    #[serde(skip)]
    pub(crate) path: PathBuf,
    #[serde(default)]
    pub(crate) streams: Vec<Stream>,
    #[serde(default)]
    pub(crate) format: Format,
    #[serde(default)]
    pub(crate) chapters: Vec<Value>,
    /// Position of the pictures among the streams.
    #[serde(skip)]
    main: usize,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Format {
    pub(crate) format_name: String,
    pub(crate) format_long_name: Option<String>,
    pub(crate) start_time: Option<String>,
    pub(crate) duration: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
}

/// One stream of a film.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Stream {
    pub(crate) index: usize,
    pub(crate) codec_type: String,
    pub(crate) codec_name: String,
    pub(crate) codec_tag_string: String,
    pub(crate) profile: Option<String>,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pix_fmt: Option<String>,
    pub(crate) sample_aspect_ratio: Option<String>,
    pub(crate) color_range: Option<String>,
    pub(crate) color_space: Option<String>,
    pub(crate) color_transfer: Option<String>,
    pub(crate) color_primaries: Option<String>,
    pub(crate) chroma_location: Option<String>,
    pub(crate) field_order: Option<String>,
    pub(crate) avg_frame_rate: String,
    pub(crate) r_frame_rate: String,
    pub(crate) time_base: String,
    pub(crate) duration: Option<String>,
    pub(crate) bit_rate: Option<String>,
    pub(crate) nb_frames: Option<String>,
    pub(crate) channels: Option<u32>,
    pub(crate) sample_rate: Option<String>,
    pub(crate) disposition: BTreeMap<String, i32>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) side_data_list: Vec<BTreeMap<String, Value>>,
}

/// The first frame, where the stream does not tell.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct First {
    interlaced_frame: i32,
    top_field_first: i32,
    side_data_list: Vec<BTreeMap<String, Value>>,
}

/// Brightness and colours of the display that a film was graded on, in the units of x265: 1/50000 and 1/10000 cd/m².
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mastering {
    /// Red, green, blue, white: x and y.
    pub(crate) points: [[f64; 2]; 4],
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// A fraction such as `30000/1001`; `None` for 0/0.
pub(crate) fn fraction(text: &str) -> Option<(u32, u32)> {
    let (a, b) = text.split_once(['/', ':'])?;
    let both: (u32, u32) = (a.parse().ok()?, b.parse().ok()?);
    (both.0 > 0 && both.1 > 0).then_some(both)
}

impl Probe {
    /// Asks ffprobe.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        // ffmpeg's own message would not say that the file does not exist.
        std::fs::File::open(path).with_context(|| path.display().to_string())?;
        let asked = ["-show_streams", "-show_format", "-show_chapters"];
        let said = ffmpeg::probe(path, &asked)?;
        let mut probe: Self = serde_json::from_slice(&said)
            .with_context(|| format!("{}: ffprobe's description", path.display()))?;
        path.clone_into(&mut probe.path);
        let pictures = |s: &Stream| s.codec_type == "video" && !s.is("attached_pic");
        match probe.streams.iter().position(pictures) {
            Some(main) => probe.main = main,
            None => bail!("{}: there are no moving pictures in it", path.display()),
        }
        probe.look_at_first_frame();
        Ok(probe)
    }

    /// Whether its pixels may be transparent.
    pub(crate) fn has_alpha(&self) -> bool {
        let samples = self.video().pix_fmt.as_deref();
        samples.is_some_and(super::codec::has_alpha)
    }

    /// The stream of the pictures.
    pub(crate) fn video(&self) -> &Stream {
        &self.streams[self.main]
    }

    /// Fields and light levels that are stored with frames. Without an answer, what the stream says holds.
    fn look_at_first_frame(&mut self) {
        let stream = self.streams[self.main].index.to_string();
        let asked = ["-select_streams", &stream, "-show_frames"];
        let asked = [&asked[..], &["-read_intervals", "%+#1"]].concat();
        let said = ffmpeg::probe(&self.path, &asked).unwrap_or_default();
        let frames: Option<Value> = serde_json::from_slice(&said).ok();
        let first = frames.and_then(|mut f| f.get_mut("frames")?.get_mut(0).map(Value::take));
        let first: First = first
            .and_then(|f| serde_json::from_value(f).ok())
            .unwrap_or_default();
        let video = &mut self.streams[self.main];
        // What the stream says of H.264 is not always true.
        if first.interlaced_frame == 1 {
            let order = if first.top_field_first == 1 {
                "tt"
            } else {
                "bb"
            };
            video.field_order = Some(order.to_owned());
        }
        for data in first.side_data_list {
            let kind = data.get("side_data_type").cloned();
            let has = |d: &BTreeMap<String, Value>| d.get("side_data_type").cloned() == kind;
            if !video.side_data_list.iter().any(has) {
                video.side_data_list.push(data);
            }
        }
    }

    /// Length in seconds.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let video = self.video().duration.as_ref();
        let text = video.or(self.format.duration.as_ref())?;
        text.parse().ok().filter(|s: &f64| *s > 0.0)
    }

    /// When the first stream begins, in seconds.
    pub(crate) fn start(&self) -> f64 {
        let start = self.format.start_time.as_ref();
        start.and_then(|s| s.parse().ok()).unwrap_or(0.0)
    }

    /// The number of frames, and whether it is exact.
    pub(crate) fn frames(&self) -> Option<(u64, bool)> {
        let video = self.video();
        if let Some(count) = video.nb_frames.as_ref().and_then(|n| n.parse().ok()) {
            return Some((count, true));
        }
        let (count, seconds) = video.rate()?;
        let frames = self.seconds()? * f64::from(count) / f64::from(seconds);
        Some((frames.round() as u64, false))
    }
}

impl Stream {
    /// Whether it has a disposition, such as `attached_pic`.
    pub(crate) fn is(&self, disposition: &str) -> bool {
        self.disposition.get(disposition) == Some(&1)
    }

    /// Its dispositions in the form that ffmpeg takes.
    pub(crate) fn dispositions(&self) -> String {
        let set = self.disposition.iter().filter(|(_, on)| **on == 1);
        let names: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            "0".to_owned()
        } else {
            names.join("+")
        }
    }

    /// Frames per second.
    pub(crate) fn rate(&self) -> Option<(u32, u32)> {
        fraction(&self.avg_frame_rate).or_else(|| fraction(&self.r_frame_rate))
    }

    /// Whether the times of frames are uneven, as far as the rates tell.
    pub(crate) fn is_uneven(&self) -> bool {
        let rate = |text: &str| fraction(text).map(|(a, b)| f64::from(a) / f64::from(b));
        match (rate(&self.avg_frame_rate), rate(&self.r_frame_rate)) {
            (Some(a), Some(r)) => (a / r - 1.0).abs() > 0.02,
            _ => false,
        }
    }

    /// `Some(true)` if the upper field comes first, `None` for whole frames.
    pub(crate) fn upper_field_first(&self) -> Option<bool> {
        match self.field_order.as_deref() {
            Some("tt" | "tb") => Some(true),
            Some("bb" | "bt") => Some(false),
            _ => None,
        }
    }

    fn data(&self, kind: &str) -> Option<&BTreeMap<String, Value>> {
        let is = |d: &&BTreeMap<String, Value>| {
            let name = d.get("side_data_type").and_then(Value::as_str);
            name.is_some_and(|name| name.eq_ignore_ascii_case(kind))
        };
        self.side_data_list.iter().find(is)
    }

    /// Counter-clockwise rotation for display, in degrees.
    pub(crate) fn rotation(&self) -> Option<f64> {
        let turn = self.data("Display Matrix")?.get("rotation")?.as_f64()?;
        (turn != 0.0).then_some(turn)
    }

    /// The display that the film was graded on.
    pub(crate) fn mastering(&self) -> Option<Mastering> {
        let data = self.data("Mastering display metadata")?;
        let value = |name: &str| {
            let (a, b) = data.get(name)?.as_str()?.split_once('/')?;
            let (a, b): (f64, f64) = (a.parse().ok()?, b.parse().ok()?);
            (b > 0.0).then(|| a / b)
        };
        let point = |name: &str| Some([value(&format!("{name}_x"))?, value(&format!("{name}_y"))?]);
        Some(Mastering {
            points: [
                point("red")?,
                point("green")?,
                point("blue")?,
                point("white_point")?,
            ],
            least: value("min_luminance")?,
            most: value("max_luminance")?,
        })
    }

    /// The brightest pixel and the brightest average of a frame, in cd/m².
    pub(crate) fn light(&self) -> Option<(u64, u64)> {
        let data = self.data("Content light level metadata")?;
        let value = |name: &str| data.get(name)?.as_u64();
        Some((value("max_content")?, value("max_average")?))
    }

    /// Whether it carries Dolby Vision, which no encoder here writes.
    pub(crate) fn is_dolby_vision(&self) -> bool {
        self.data("DOVI configuration record").is_some()
    }
}
