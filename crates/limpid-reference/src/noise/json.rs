//! Profiles as text.

use super::{Component, Profile, SIDE, Spectrum};
use limpid_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The contents of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Always 1.
    limpid_noise: u32,
    range: [f32; 2],
    deviations: Vec<Vec<f32>>,
    components: Vec<Part>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    deviation: f32,
    spectrum: Vec<f32>,
}

impl Profile {
    /// The profile as JSON.
    pub fn to_json(&self) -> String {
        let part = |c: &Component| Part {
            deviation: c.deviation,
            spectrum: c.spectrum.0.to_vec(),
        };
        let file = File {
            limpid_noise: 1,
            range: self.range,
            deviations: self.deviations.clone(),
            components: self.components.iter().map(part).collect(),
        };
        serde_json::to_string(&file).unwrap_or_default()
    }

    /// Parses what [`Profile::to_json`] wrote. Implausible numbers are errors.
    pub fn from_json(text: &str) -> Result<Self> {
        let wrong = |what: String| Error::input(format!("not a noise profile: {what}"));
        let file: File = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let part = |p: Part| -> Result<Component> {
            let count = p.spectrum.len();
            let spectrum: [f32; SIDE * SIDE] = (p.spectrum.try_into())
                .map_err(|_| wrong(format!("a spectrum of {count} numbers, expected 64")))?;
            Ok(Component {
                deviation: p.deviation,
                spectrum: Spectrum(spectrum),
            })
        };
        let profile = Self {
            range: file.range,
            deviations: file.deviations,
            components: file
                .components
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?,
        };
        let sound = |v: &f32| v.is_finite() && *v >= 0.0;
        let count = profile.deviations.first().map_or(0, Vec::len);
        let numbers = (profile.deviations.iter().flatten())
            .chain(profile.components.iter().map(|c| &c.deviation))
            .chain(profile.components.iter().flat_map(|c| &c.spectrum.0))
            .all(sound);
        let [low, high] = profile.range;
        let parts = matches!(profile.channels(), 1 | 3)
            && profile.components.len() == profile.channels()
            && profile.deviations.iter().all(|d| d.len() == count);
        if file.limpid_noise != 1 || !parts || !(2..=256).contains(&count) {
            return Err(wrong(
                "expected version 1 with one or three channels".into(),
            ));
        }
        if !numbers || !low.is_finite() || !high.is_finite() || low >= high {
            return Err(wrong("a number is negative, or the range is empty".into()));
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_come_back() {
        let mut profile = Profile::white(0.1, 3);
        profile.deviations[1][1] = 0.3;
        profile.components[2].spectrum.0[5] = 0.25;
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
        for (from, to) in [("0.25", "-1"), ("[0.0,1.0]", "[1.0,1.0]"), (":1,", ":2,")] {
            let text = profile.to_json().replacen(from, to, 1);
            assert!(Profile::from_json(&text).is_err(), "{text}");
        }
    }
}
