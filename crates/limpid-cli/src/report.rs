//! Reports: what was done with each file, as a line of text or of JSON.

use crate::batch::Job;
use crate::say;
use anyhow::Result;
use limpid::method::Method;
use limpid::{Device, Frame, Kind, Layer, Sequence};
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The report on one file.
#[derive(Serialize)]
pub(crate) struct Report {
    /// Names that are not UTF-8 are shown as well as they can be.
    input: String,
    output: String,
    method: String,
    /// The options of the method, as the command line would have them.
    options: serde_json::Map<String, serde_json::Value>,
    device: String,
    version: &'static str,
    #[serde(skip_serializing_if = "Findings::is_nothing")]
    found: Findings,
    seconds: f64,
    /// Additional facts of a subcommand.
    #[serde(flatten)]
    pub(crate) more: serde_json::Map<String, serde_json::Value>,
}

/// What was found in the image.
#[derive(Serialize, Default)]
struct Findings {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<String>,
    /// The least and the most standard deviation of the noise, where white is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<[f64; 2]>,
    /// The summary of the method.
    #[serde(skip)]
    text: Option<String>,
}

impl Findings {
    fn is_nothing(&self) -> bool {
        self.layers.is_empty() && self.noise.is_none()
    }

    /// In words: what the method says, or else the features.
    fn in_words(&self) -> Option<String> {
        let feature = |name: &&str| {
            let all = [
                Kind::Albedo,
                Kind::Normal,
                Kind::Position,
                Kind::Depth,
                Kind::Visibility,
            ];
            let mut all = all.into_iter().map(|kind| Layer::from(kind).to_string());
            all.any(|feature| feature == **name)
        };
        let names: Vec<&str> = self.layers.iter().map(String::as_str).collect();
        let features: Vec<&str> = names.into_iter().filter(feature).collect();
        let with = || (!features.is_empty()).then(|| format!("with {}", features.join(", ")));
        self.text.clone().or_else(with)
    }
}

/// The names of the layers of a frame.
pub(crate) fn layers(frame: &Frame) -> Vec<String> {
    frame.layers().map(|(layer, _)| layer.to_string()).collect()
}

impl Report {
    /// A report on the progress of a sequence since a given time.
    pub(crate) fn new(job: &Job, sequence: &Sequence, device: &Device, since: Instant) -> Self {
        let method = sequence.method();
        let mut report = Self::of(job, (method.name(), method.summary()), device, since);
        report.options = options(method);
        report
    }

    /// A report on a file, with the name of the method and what it found.
    pub(crate) fn of(
        job: &Job,
        (method, text): (&str, Option<String>),
        device: &Device,
        since: Instant,
    ) -> Self {
        let noise = text.as_ref().and_then(|t| t.split_once("noise "));
        Self {
            input: job.from.display().to_string(),
            output: job.to.display().to_string(),
            method: method.to_owned(),
            options: serde_json::Map::new(),
            device: device.name(),
            version: env!("CARGO_PKG_VERSION"),
            found: Findings {
                layers: Vec::new(),
                noise: noise.map(|(_, noise)| noise.to_owned()),
                sigma: noise.and_then(|(_, noise)| deviations(noise)),
                text,
            },
            seconds: (1e3 * since.elapsed().as_secs_f64()).round() / 1e3,
            more: serde_json::Map::new(),
        }
    }

    /// With the layers that were found in the file.
    pub(crate) fn with_layers(mut self, layers: Vec<String>) -> Self {
        self.found.layers = layers;
        self
    }

    /// Prints it: a line on standard error, or JSON on standard output.
    pub(crate) fn tell(&self, as_json: bool) -> Result<()> {
        if as_json {
            return line(&serde_json::to_string(self)?);
        }
        if !say::is_quiet() {
            let found = self.found.in_words();
            let found = found.map_or(String::new(), |f| format!(", {f}"));
            let position = say::position().map_or(String::new(), |p| format!(" ({p})"));
            say::line(&format!(
                "{}: {} on {}{found}, {:.2} s, written to {}{position}",
                self.input, self.method, self.device, self.seconds, self.output
            ));
        }
        Ok(())
    }
}

/// The options of a method; numbers and switches as such.
fn options(method: &dyn Method) -> serde_json::Map<String, serde_json::Value> {
    let value = |text: String| match serde_json::from_str(&text) {
        Ok(plain @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => plain,
        _ => serde_json::Value::String(text),
    };
    let options = method.named_options().into_iter();
    options
        .map(|option| (option.name, value(option.value)))
        .collect()
}

/// The numbers of `5.1/255, white` and `1.2 to 3.4 of 255, fine`, over 255.
fn deviations(noise: &str) -> Option<[f64; 2]> {
    let numbers = noise.split(',').next()?;
    let numbers = numbers
        .strip_suffix("/255")
        .or(numbers.strip_suffix(" of 255"))?;
    let (least, most) = numbers.split_once(" to ").unwrap_or((numbers, numbers));
    let share = |text: &str| {
        text.parse::<f64>()
            .ok()
            .map(|v| (v / 255.0 * 1e5).round() / 1e5)
    };
    Some([share(least)?, share(most)?])
}

/// The JSON object of a file that failed.
pub(crate) fn failure(file: &Path, error: &anyhow::Error) {
    let value = serde_json::json!({
        "input": file.display().to_string(),
        "error": say::message(error),
    });
    // The error is told on standard error too.
    let _ = line(&value.to_string());
}

/// Whether nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Prints a line on standard output. Where nobody reads it any more, the work goes on without.
pub(crate) fn line(text: &str) -> Result<()> {
    if CLOSED.load(Ordering::Relaxed) {
        return Ok(());
    }
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_numbers() {
        assert_eq!(deviations("5.1/255, white"), Some([0.02, 0.02]));
        assert_eq!(deviations("5.1 to 25.5 of 255, fine"), Some([0.02, 0.1]));
        assert_eq!(deviations("12 %"), None);
    }
}
