//! Sequences, frame by frame, with flicker.

use super::{Args, Loaded};
use crate::say;
use crate::shot;
use crate::video;
use anyhow::{Context, Result, bail};
use limpid::Image;
use limpid::io::y4m::Colour;
use limpid::metric::page::number;
use limpid::metric::{self, Options};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The results for one sequence.
#[derive(Serialize)]
struct Row {
    sequence: String,
    frames: Vec<Frame>,
    mean: Scores,
}

#[derive(Serialize)]
struct Frame {
    frame: u32,
    #[serde(flatten)]
    scores: Scores,
}

#[derive(Serialize, Clone, Copy, Default)]
struct Scores {
    relmse: f64,
    psnr: f64,
    ssim: f64,
    flip: f64,
    /// None for the first frame.
    flicker: Option<f64>,
}

pub(super) fn run(args: &Args, images: &[PathBuf], reference: &Path) -> Result<()> {
    if args.html.is_some() {
        bail!("--html shows single images; name one frame of the sequence and of its reference");
    }
    let mut rows = Vec::new();
    for pattern in images {
        if !is_sequence(pattern) {
            bail!(
                "{}: the reference is a sequence, so the images must be sequences too, such as OUT.####.exr, or films",
                pattern.display()
            );
        }
        rows.push(sequence(pattern, reference, args)?);
    }
    let mut out = std::io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?,
        false => write!(out, "{}", as_text(&rows))?,
    }
    Ok(())
}

/// The last frame of a sequence, and of its reference.
struct Before {
    image: Image,
    reference: Image,
}

/// Whether a name denotes several frames.
pub(super) fn is_sequence(path: &Path) -> bool {
    shot::is_pattern(path) || video::is_film(path)
}

/// Where frames come from.
enum Source<'a> {
    Files(&'a Path),
    Film(Box<video::Frames>),
}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(match shot::is_pattern(path) {
            true => Self::Files(path),
            false => Self::Film(Box::new(video::Frames::open(path, Colour::Encoded)?)),
        })
    }

    /// A frame by its number; films are read in order. `None` after the last one.
    fn frame(&mut self, number: u32, args: &Args) -> Result<Option<Loaded>> {
        match self {
            Self::Files(pattern) => Loaded::read(&shot::numbered(pattern, number), args).map(Some),
            Self::Film(film) => film.next()?.map(|i| Loaded::shown(i, args)).transpose(),
        }
    }
}

fn sequence(pattern: &Path, references: &Path, args: &Args) -> Result<Row> {
    let (mut images, mut wanted) = (Source::open(pattern)?, Source::open(references)?);
    let numbers: Box<dyn Iterator<Item = u32>> = match (&images, &wanted) {
        (Source::Files(pattern), _) | (_, Source::Files(pattern)) => {
            Box::new(shot::found(pattern)?.into_iter())
        }
        _ => Box::new(0..),
    };
    let watch = say::watch(&pattern.display().to_string());
    let mut frames = Vec::new();
    let mut before: Option<Before> = None;
    for frame in numbers {
        watch.check()?;
        let name = || format!("{}, frame {frame}", pattern.display());
        let Some(mut loaded) = images.frame(frame, args)? else {
            break;
        };
        let Some(reference) = wanted.frame(frame, args)? else {
            bail!("{}: ends before {}", references.display(), name());
        };
        let motion = loaded.motion.take().or(reference.motion);
        let options = Options::new(reference.space).exposed(args.exposure);
        let image = loaded.into_space(options.space, args.exposure);
        let scores = metric::compare(&image, &reference.image, &options)
            .with_context(name)?
            .scores;
        let now = Before {
            image,
            reference: reference.image,
        };
        let flicker = match &before {
            Some(before) => {
                let own = metric::change(&now.image, &before.image, motion.as_ref());
                let still = metric::change(&now.reference, &before.reference, motion.as_ref());
                Some(own.with_context(name)? - still.with_context(name)?)
            }
            None => None,
        };
        before = Some(now);
        frames.push(Frame {
            frame,
            scores: Scores {
                relmse: scores.relmse,
                psnr: scores.psnr,
                ssim: scores.ssim,
                flip: scores.flip,
                flicker,
            },
        });
    }
    watch.done(1.0);
    Ok(Row {
        sequence: pattern.display().to_string(),
        mean: mean(&frames),
        frames,
    })
}

fn mean(frames: &[Frame]) -> Scores {
    let n = frames.len().max(1) as f64;
    let of = |value: fn(&Scores) -> f64| frames.iter().map(|f| value(&f.scores)).sum::<f64>() / n;
    let flickers: Vec<f64> = frames.iter().filter_map(|f| f.scores.flicker).collect();
    Scores {
        relmse: of(|s| s.relmse),
        psnr: of(|s| s.psnr),
        ssim: of(|s| s.ssim),
        flip: of(|s| s.flip),
        flicker: (!flickers.is_empty())
            .then(|| flickers.iter().sum::<f64>() / flickers.len() as f64),
    }
}

fn as_text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        text += &format!("{}\n", row.sequence);
        text += "frame      relMSE     PSNR dB        SSIM        FLIP     flicker\n";
        let mut line = |name: &str, s: &Scores| {
            text += &format!("{name:5}");
            for value in [s.relmse, s.psnr, s.ssim, s.flip] {
                text += &format!("{:>12}", number(value));
            }
            text += &format!("{:>12}\n", s.flicker.map_or("-".into(), number));
        };
        for frame in &row.frames {
            line(&frame.frame.to_string(), &frame.scores);
        }
        line("mean", &row.mean);
    }
    text
}
