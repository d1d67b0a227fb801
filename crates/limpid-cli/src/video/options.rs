//! The options of films.

use super::codec::Encoding;
use super::parts::Resume;
use clap::ValueEnum;
use std::ops::RangeInclusive;

/// How films are read and written.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Films")]
pub(crate) struct FilmArgs {
    /// Encoder of the film: x264, x265, av1, vp9, prores, dnxhr, ffv1, or any that `ffmpeg -encoders` lists, such as hevc_nvenc
    /// [default: that of the source, visually lossless]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoder: Option<String>,
    /// Quality of the encoder, lower is better; 0 … 51 for x264 and x265, 0 … 63 for av1 and vp9
    #[arg(long, value_name = "NUMBER")]
    pub(crate) crf: Option<u32>,
    /// Speed of the encoder: ultrafast … veryslow for x264 and x265, a number for av1 and vp9
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// More options for the ffmpeg that encodes, in quotes: --ffmpeg "-g 50 -tune grain"
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) ffmpeg: Option<String>,
    /// Process a part of a film only: 50..55 in seconds, 0:50..0:55, or 1:30.. to the end
    #[arg(long, value_name = "A..B", value_parser = time, conflicts_with = "frames")]
    pub(crate) time: Option<Span>,
    /// Frames per second of a film made of numbered pictures: 25, 23.976, 30000/1001 [default: 25]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<(u32, u32)>,
    /// Whether frames consist of two fields, which are filtered separately [default: as the film says]
    #[arg(long, value_name = "ORDER")]
    pub(crate) fields: Option<Fields>,
}

/// The order of the fields of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fields {
    /// The upper field comes first: high definition, PAL tapes
    Top,
    /// The lower field comes first: DV
    Bottom,
    /// Whole frames
    None,
}

/// A part of a film, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) to: Option<f64>,
}

/// Parses `50..55`, `0:50..0:55`, `1:30..` and `50s..55s`.
fn time(text: &str) -> Result<Span, String> {
    let wrong = || {
        format!("'{text}' is not a part of a film; expected FROM..TO, such as 50..55 or 0:50..0:55")
    };
    let (a, b) = text.split_once("..").ok_or_else(wrong)?;
    let from = if a.is_empty() {
        0.0
    } else {
        seconds(a).ok_or_else(wrong)?
    };
    let to = match b {
        "" => None,
        b => Some(seconds(b).filter(|b| *b > from).ok_or_else(wrong)?),
    };
    Ok(Span { from, to })
}

/// Seconds, minutes and seconds, or hours, minutes and seconds.
fn seconds(text: &str) -> Option<f64> {
    let text = text.strip_suffix('s').unwrap_or(text);
    let parts: Vec<f64> = (text.split(':').map(str::parse))
        .collect::<Result<_, _>>()
        .ok()?;
    let fine = parts.len() <= 3 && parts.iter().all(|p| p.is_finite() && *p >= 0.0);
    fine.then(|| parts.iter().fold(0.0, |sum, part| 60.0 * sum + part))
}

/// Parses frames per second. 29.97 and its kin stand for the exact fractions.
fn rate(text: &str) -> Result<(u32, u32), String> {
    let wrong = || {
        format!("'{text}' is not a number of frames per second; expected 25, 23.976 or 30000/1001")
    };
    if let Some(exact) = super::probe::fraction(text) {
        return Ok(exact);
    }
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if !(value > 0.0 && value <= 1000.0) {
        return Err(wrong());
    }
    let whole = (value * 1.001).round();
    if value.fract() != 0.0 && (value - whole / 1.001).abs() < 0.006 {
        return Ok((whole as u32 * 1000, 1001));
    }
    Ok(((value * 1000.0).round() as u32, 1000))
}

/// What is done with a film besides filtering.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) encoding: Encoding,
    /// First and last frame, from 0.
    pub(crate) frames: Option<RangeInclusive<u32>>,
    pub(crate) time: Option<Span>,
    pub(crate) fields: Option<Fields>,
    /// Frames per second of pictures.
    pub(crate) rate: Option<(u32, u32)>,
    /// Quality of JPEG pictures.
    pub(crate) quality: Option<u8>,
    /// Whether to go on where an earlier run stopped.
    pub(crate) resume: Option<Resume>,
}

impl FilmArgs {
    /// The option that was given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let for_encoder = self.for_encoder();
        for_encoder
            .or_else(|| self.time.map(|_| "--time"))
            .or_else(|| self.fields.map(|_| "--fields"))
            .or_else(|| self.rate.map(|_| "--rate"))
    }

    /// The option for the encoder that was given, if any.
    pub(crate) fn for_encoder(&self) -> Option<&'static str> {
        let all = [
            ("--encoder", self.encoder.is_some()),
            ("--crf", self.crf.is_some()),
            ("--preset", self.preset.is_some()),
            ("--ffmpeg", self.ffmpeg.is_some()),
        ];
        all.into_iter().find(|(_, on)| *on).map(|(name, _)| name)
    }

    /// The settings of a film, with a range of frames and the quality of JPEG pictures.
    pub(crate) fn settings(
        &self,
        frames: Option<RangeInclusive<u32>>,
        quality: Option<u8>,
    ) -> Settings {
        Settings {
            encoding: Encoding {
                encoder: self.encoder.clone(),
                crf: self.crf,
                preset: self.preset.clone(),
                more: words(self.ffmpeg.as_deref().unwrap_or_default()),
                exact: false,
            },
            frames,
            time: self.time,
            fields: self.fields,
            rate: self.rate,
            quality,
            resume: None,
        }
    }
}

/// Words as a shell splits them: quotes keep spaces.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => all.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_films_are_understood() {
        let span = |from, to| Ok(Span { from, to });
        assert_eq!(time("50s..55s"), span(50.0, Some(55.0)));
        assert_eq!(time("1:02:03.5.."), span(3723.5, None));
        assert_eq!(time("..0:10"), span(0.0, Some(10.0)));
        for wrong in ["5", "9..3", "a..b", "1:2:3:4..", "-1..2"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(rate("29.97"), Ok((30000, 1001)));
        assert_eq!(rate("23.976"), Ok((24000, 1001)));
        assert_eq!(rate("12.5"), Ok((12500, 1000)));
        assert_eq!(rate("30000/1001"), Ok((30000, 1001)));
        assert!(rate("0").is_err() && rate("fast").is_err());
        assert_eq!(
            words("-g 50 -x 'a b' \"c\"d"),
            ["-g", "50", "-x", "a b", "cd"]
        );
    }
}
