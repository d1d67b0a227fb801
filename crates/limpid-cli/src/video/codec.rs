//! Which encoder writes a film, with which samples.

use super::ffmpeg;
use super::probe::Stream;
use limpid::io::y4m::{Chroma, Header};
use limpid::{Error, Result};

/// How a film is encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoding {
    pub(crate) encoder: Option<String>,
    pub(crate) crf: Option<u32>,
    pub(crate) preset: Option<String>,
    pub(crate) more: Vec<String>,
    /// Whether every sample is stored without loss.
    pub(crate) exact: bool,
}

/// The encoder of a film.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Its name in ffmpeg.
    pub(super) name: String,
    pub(super) args: Vec<String>,
    /// The samples it gets, if it does not take those of the film.
    pub(super) samples: Option<String>,
    /// What is lost.
    pub(super) notes: Vec<String>,
}

impl Choice {
    /// Whether red, green and blue are stored.
    pub(super) fn is_rgb(&self) -> bool {
        self.samples.as_deref().is_some_and(is_rgb)
    }
}

/// Whether samples are red, green and blue.
pub(super) fn is_rgb(samples: &str) -> bool {
    let kinds = [
        "gbr", "rgb", "bgr", "0rgb", "0bgr", "argb", "abgr", "pal8", "x2rgb", "x2bgr",
    ];
    kinds.iter().any(|kind| samples.starts_with(kind))
}

/// Whether samples have an alpha channel.
pub(super) fn has_alpha(samples: &str) -> bool {
    let kinds = [
        "yuva", "gbrap", "rgba", "bgra", "argb", "abgr", "ya8", "ya16", "ayuv",
    ];
    kinds.iter().any(|kind| samples.starts_with(kind))
}

/// Encoders by their short names, the best first.
const SHORT: [(&str, &[&str]); 10] = [
    ("x264", &["libx264"]),
    ("x265", &["libx265"]),
    ("av1", &["libsvtav1", "libaom-av1", "librav1e"]),
    ("vp9", &["libvpx-vp9"]),
    ("vp8", &["libvpx"]),
    ("prores", &["prores_ks", "prores"]),
    ("dnxhr", &["dnxhd"]),
    ("ffv1", &["ffv1"]),
    ("theora", &["libtheora"]),
    ("flv1", &["flv"]),
];

/// The family of a codec, as ffprobe calls it.
fn family(codec: &str) -> &str {
    match codec {
        "h264" => "x264",
        "hevc" => "x265",
        "dnxhd" => "dnxhr",
        other => other,
    }
}

/// Whether a container holds a family, as far as players and editors go.
fn holds(container: &str, family: &str) -> bool {
    let known: &[&str] = match container {
        "webm" => &["vp8", "vp9", "av1"],
        "mp4" | "m4v" => &["x264", "x265", "av1", "vp9", "mpeg4", "mpeg2video"],
        "mov" => &[
            "x264",
            "x265",
            "prores",
            "dnxhr",
            "mjpeg",
            "mpeg4",
            "mpeg2video",
            "dvvideo",
            "v210",
            "rawvideo",
            "qtrle",
            "png",
            "cfhd",
            "jpeg2000",
        ],
        "avi" => &[
            "x264",
            "mpeg4",
            "mjpeg",
            "ffv1",
            "huffyuv",
            "ffvhuff",
            "utvideo",
            "dvvideo",
            "rawvideo",
            "v210",
            "msmpeg4v3",
            "mpeg2video",
            "magicyuv",
            "cfhd",
        ],
        "ts" => &["x264", "x265", "mpeg2video"],
        "mpg" | "mpeg" => &["mpeg1video", "mpeg2video"],
        "wmv" => &["wmv1", "wmv2", "msmpeg4v3"],
        _ => return true,
    };
    known.contains(&family)
}

/// The family for a container that does not hold that of the source.
fn usual(container: &str, bits: u32) -> &'static str {
    match container {
        "webm" => "vp9",
        "mpg" | "mpeg" => "mpeg2video",
        "wmv" => "wmv2",
        "avi" => "x264",
        _ if bits > 8 => "x265",
        _ => "x264",
    }
}

/// The encoder for frames of this form, from a film with this stream if there is one.
pub(super) fn choose(
    wanted: &Encoding,
    from: Option<&Stream>,
    header: &Header,
    container: &str,
) -> Result<Choice> {
    if wanted.exact {
        let name = "ffv1".to_owned();
        return Ok(Choice {
            name,
            ..Choice::default()
        });
    }
    let own = from.map(|s| family(&s.codec_name));
    let can_be_written = |family: &&str| holds(container, family) && find(family).is_some();
    let family = match &wanted.encoder {
        Some(name) => name.as_str(),
        None => match own {
            // Codecs that ffmpeg only reads are written as the usual one.
            Some(own) if can_be_written(&own) || (holds(container, own) && short(own)) => own,
            _ => usual(container, header.bits),
        },
    };
    let Some(name) = find(family) else {
        return Err(missing(family));
    };
    let same = from.filter(|_| own == Some(family));
    let rgb = from
        .and_then(|s| s.pix_fmt.as_deref())
        .filter(|p| is_rgb(p));
    let mut choice = Choice {
        args: quality(&name, wanted, same, header)?,
        name,
        ..Choice::default()
    };
    samples(&mut choice, header, rgb);
    if let Some(profile) = profile(&choice, same, header) {
        choice.args.extend(profile);
    }
    choice.args.extend(wanted.more.iter().cloned());
    Ok(choice)
}

fn short(family: &str) -> bool {
    SHORT.iter().any(|(short, _)| *short == family)
}

/// The encoder of a family that the installed ffmpeg has.
fn find(family: &str) -> Option<String> {
    let named = SHORT.iter().find(|(short, _)| *short == family);
    let plain = [family];
    let all = named.map_or(&plain[..], |(_, all)| all);
    let found = all.iter().find(|name| ffmpeg::has_encoder(name));
    found.map(|name| (*name).to_owned())
}

fn missing(family: &str) -> Error {
    let named = SHORT.iter().find(|(short, _)| *short == family);
    let (what, needs) = match named {
        Some((_, all)) => (family, format!(" ({})", all.join(", "))),
        None => (family, String::new()),
    };
    Error::unsupported(format!(
        "the installed ffmpeg has no encoder {what}{needs}; `ffmpeg -encoders` lists what it has, --encoder chooses one"
    ))
}

/// Options for quality and speed.
fn quality(
    name: &str,
    wanted: &Encoding,
    same: Option<&Stream>,
    header: &Header,
) -> Result<Vec<String>> {
    let crf = |usual: u32| wanted.crf.unwrap_or(usual).to_string();
    let set = |pairs: &[(&str, &str)]| -> Vec<String> {
        let words = pairs.iter().flat_map(|(a, b)| [*a, *b]);
        words.map(str::to_owned).collect()
    };
    let preset = wanted.preset.as_deref();
    let (mut args, speed) = match name {
        "libx264" | "libx264rgb" => (set(&[("-crf", &crf(14))]), Some("-preset")),
        "libx265" => (set(&[("-crf", &crf(14))]), Some("-preset")),
        "libsvtav1" => (
            set(&[("-crf", &crf(18)), ("-preset", preset.unwrap_or("6"))]),
            Some("-preset"),
        ),
        "libaom-av1" => (
            set(&[
                ("-crf", &crf(14)),
                ("-b:v", "0"),
                ("-row-mt", "1"),
                ("-cpu-used", preset.unwrap_or("5")),
            ]),
            Some("-cpu-used"),
        ),
        "libvpx-vp9" => (
            set(&[
                ("-crf", &crf(14)),
                ("-b:v", "0"),
                ("-row-mt", "1"),
                ("-cpu-used", preset.unwrap_or("3")),
            ]),
            Some("-cpu-used"),
        ),
        "libvpx" => (
            set(&[("-crf", &crf(4)), ("-b:v", "40M")]),
            Some("-cpu-used"),
        ),
        "ffv1" => (
            set(&[("-level", "3"), ("-g", "1"), ("-slicecrc", "1")]),
            None,
        ),
        "dnxhd" => (dnx(same, header), None),
        "mpeg1video" | "mpeg2video" | "mpeg4" | "mjpeg" | "flv" | "wmv1" | "wmv2" | "msmpeg4v2"
        | "msmpeg4v3" | "msmpeg4" | "h263p" => (set(&[("-q:v", &crf(2))]), None),
        "libtheora" => (set(&[("-q:v", "10")]), None),
        _ if name.ends_with("_nvenc") => (set(&[("-cq", &crf(16))]), Some("-preset")),
        _ if name.ends_with("_qsv") => (set(&[("-global_quality", &crf(16))]), Some("-preset")),
        _ if name.ends_with("_vaapi") => (set(&[("-qp", &crf(18))]), None),
        _ => (Vec::new(), None),
    };
    if wanted.crf.is_some() && !args.iter().any(|a| crf_option(a)) {
        return Err(Error::input(format!(
            "--crf is not for the encoder {name}; leave it out, or set its options with --ffmpeg"
        )));
    }
    match (preset, speed) {
        (Some(preset), Some(option)) if !args.iter().any(|a| a == option) => {
            args.extend(set(&[(option, preset)]));
        }
        (Some(_), None) => {
            return Err(Error::input(format!(
                "--preset is not for the encoder {name}; leave it out, or set its options with --ffmpeg"
            )));
        }
        _ => {}
    }
    Ok(args)
}

fn crf_option(option: &str) -> bool {
    matches!(option, "-crf" | "-cq" | "-global_quality" | "-qp") || option == "-q:v"
}

/// DNxHR by name, DNxHD by its rate.
fn dnx(same: Option<&Stream>, header: &Header) -> Vec<String> {
    let profile = same.and_then(|s| s.profile.as_deref()).unwrap_or("");
    let profile = match (profile, header.chroma, header.bits) {
        ("DNXHD", ..) => {
            let rate = same.and_then(|s| s.bit_rate.clone());
            let rate = rate.unwrap_or_else(|| "185M".to_owned());
            return vec!["-b:v".to_owned(), rate];
        }
        ("DNXHR LB", ..) => "dnxhr_lb",
        ("DNXHR SQ", ..) => "dnxhr_sq",
        ("DNXHR HQ", ..) => "dnxhr_hq",
        ("DNXHR HQX", ..) => "dnxhr_hqx",
        ("DNXHR 444", ..) | (_, Chroma::Sampled(1, 1), _) => "dnxhr_444",
        (_, _, 8) => "dnxhr_hq",
        _ => "dnxhr_hqx",
    };
    vec!["-profile:v".to_owned(), profile.to_owned()]
}

/// The profile of ProRes: that of the source, or the finest for the samples.
fn profile(choice: &Choice, same: Option<&Stream>, header: &Header) -> Option<Vec<String>> {
    if !choice.name.starts_with("prores") {
        return None;
    }
    let number = match same.and_then(|s| s.profile.as_deref()) {
        Some("Proxy") => "0",
        Some("LT") => "1",
        Some("Standard") => "2",
        Some("HQ") => "3",
        Some("4444") => "4",
        Some("XQ" | "4444 XQ") => "5",
        _ if header.chroma == Chroma::Sampled(1, 1) => "4",
        _ => "3",
    };
    let words = ["-profile:v", number, "-vendor", "apl0"];
    Some(words.map(str::to_owned).to_vec())
}

/// Chroma along x and y (0 for none) and bits of a pixel format that pictures can be converted to without surprises.
fn form(samples: &str) -> Option<(usize, usize, u32)> {
    let packed = match samples {
        "nv12" => Some((2, 2, 8)),
        "nv16" | "uyvy422" | "yuyv422" => Some((2, 1, 8)),
        "p010le" => Some((2, 2, 10)),
        "p016le" => Some((2, 2, 16)),
        "p210le" => Some((2, 1, 10)),
        _ => None,
    };
    if packed.is_some() {
        return packed;
    }
    let name = samples.strip_suffix("le").unwrap_or(samples);
    let (chroma, bits) = if let Some(bits) = name.strip_prefix("gray") {
        ((0, 0), bits)
    } else if let Some(bits) = name.strip_prefix("gbrp") {
        ((1, 1), bits)
    } else {
        let rest = name
            .strip_prefix("yuvj")
            .or_else(|| name.strip_prefix("yuv"))?;
        let (kind, bits) = rest.split_once('p')?;
        let chroma = match kind {
            "420" => (2, 2),
            "422" => (2, 1),
            "444" => (1, 1),
            "411" => (4, 1),
            _ => return None,
        };
        (chroma, bits)
    };
    let bits = match bits {
        "" => 8,
        bits => bits.parse().ok().filter(|b| (8..=16).contains(b))?,
    };
    Some((chroma.0, chroma.1, bits))
}

/// The name of the samples of a header in ffmpeg.
pub(super) fn name(header: &Header) -> String {
    let base = match header.chroma {
        Chroma::Mono => "gray".to_owned(),
        Chroma::Sampled(1, 1) => "yuv444p".to_owned(),
        Chroma::Sampled(2, 1) => "yuv422p".to_owned(),
        Chroma::Sampled(4, 1) => "yuv411p".to_owned(),
        Chroma::Sampled(..) => "yuv420p".to_owned(),
    };
    match header.bits {
        8 => base,
        bits => format!("{base}{bits}le"),
    }
}

/// The samples of the encoder that lose least.
fn samples(choice: &mut Choice, header: &Header, rgb: Option<&str>) {
    let own = name(header);
    let all = ffmpeg::formats(&choice.name);
    if let Some(own) = rgb.filter(|own| all.iter().any(|name| name == own)) {
        choice.samples = Some(own.to_owned());
        return;
    }
    let bits = rgb.and_then(form).map_or(header.bits, |f| f.2);
    let bits = if rgb.is_some_and(|p| form(p).is_none()) {
        8
    } else {
        bits
    };
    if all.is_empty() || (rgb.is_none() && all.contains(&own)) {
        return;
    }
    let want = match header.chroma {
        Chroma::Mono => (0, 0),
        Chroma::Sampled(x, y) => (x, y),
    };
    // Chroma that is missing, bits that are missing, another kind of colour, then what is stored in vain.
    let loss = |name: &String| {
        let (x, y, has) = form(name)?;
        let area = |(x, y): (usize, usize)| if x == 0 { usize::MAX } else { x * y };
        let coarser = area((x, y)) > area(want) || (want != (0, 0) && (x > want.0 || y > want.1));
        let other = is_rgb(name) != rgb.is_some();
        let vain = area(want).min(16).abs_diff(area((x, y)).min(16));
        let full = name.starts_with("yuvj") != header.full_range;
        Some((
            coarser,
            bits.saturating_sub(has),
            other,
            has.abs_diff(bits),
            vain,
            full,
        ))
    };
    let mut ranked: Vec<_> = all.iter().filter_map(|n| Some((loss(n)?, n))).collect();
    ranked.sort();
    let Some(((coarser, fewer, ..), best)) = ranked.first() else {
        return;
    };
    if *coarser || *fewer > 0 {
        choice.notes.push(format!(
            "the encoder {} stores {best}, less than the {own} of the film; --encoder chooses another",
            choice.name
        ));
    }
    choice.samples = Some((*best).clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_a_form() {
        assert_eq!(form("yuv420p10le"), Some((2, 2, 10)));
        assert_eq!(form("yuvj422p"), Some((2, 1, 8)));
        assert_eq!(form("gray16le"), Some((0, 0, 16)));
        assert_eq!(form("gbrp12le"), Some((1, 1, 12)));
        for other in ["yuva420p", "bgr0", "yuv420p10be", "cuda", "gbrap"] {
            assert_eq!(form(other), None, "{other}");
        }
    }
}
