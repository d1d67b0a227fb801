//! User-defined wavelets.

use super::{Bank, Lifting, Pair, Taps, Wavelet};
use limpid_core::{Error, Result};

/// The allowed reconstruction error of a user's filters.
const TOLERANCE: f64 = 1e-6;

/// See [`Wavelet::parse`].
pub(super) fn wavelet(name: &str, text: &str) -> Result<Wavelet> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            reader.line(line).map_err(|what| {
                Error::input(format!("wavelet '{name}', line {}: {what}", number + 1))
            })?;
        }
    }
    reader.finish(name)
}

#[derive(Default)]
struct Reader {
    pairs: Vec<Pair>,
    scales: [Option<f64>; 2],
    filters: [Option<Vec<f64>>; 4],
}

const FILTERS: [&str; 4] = ["dec_lo", "dec_hi", "rec_lo", "rec_hi"];

impl Reader {
    fn line(&mut self, line: &str) -> std::result::Result<(), String> {
        let (head, values) = line.split_once(':').unwrap_or((line, ""));
        let mut head = head.split_ascii_whitespace();
        let (word, argument) = (head.next().unwrap_or(""), head.next());
        let values: Vec<f64> = values
            .split([' ', '\t', ','])
            .filter(|v| !v.is_empty())
            .map(|v| v.parse().map_err(|_| format!("'{v}' is not a number")))
            .collect::<std::result::Result<_, _>>()?;
        match (word, argument) {
            ("predict" | "update", Some(first)) => {
                let first = first
                    .parse()
                    .ok()
                    .filter(|f: &i32| (-256..=256).contains(f))
                    .ok_or_else(|| format!("'{first}' is not an offset between -256 and 256"))?;
                self.step(word == "predict", Taps::new(first, values));
                Ok(())
            }
            ("low" | "high", Some(scale)) => {
                let scale = scale
                    .parse()
                    .map_err(|_| format!("'{scale}' is not a number"))?;
                self.scales[usize::from(word == "high")] = Some(scale);
                Ok(())
            }
            _ => match FILTERS.iter().position(|f| *f == word) {
                Some(i) => {
                    self.filters[i] = Some(values);
                    Ok(())
                }
                None => Err(format!(
                    "'{line}'; expected 'predict OFFSET: VALUES', 'update OFFSET: VALUES', 'low SCALE', 'high SCALE', or 'dec_lo: VALUES'"
                )),
            },
        }
    }

    fn step(&mut self, predict: bool, taps: Taps) {
        let open = match self.pairs.last() {
            Some(last) => !predict && last.update.is_empty(),
            None => false,
        };
        if !open {
            self.pairs.push(Pair::default());
        }
        if let Some(last) = self.pairs.last_mut() {
            if predict {
                last.predict = taps;
            } else {
                last.update = taps;
            }
        }
    }

    fn finish(self, name: &str) -> Result<Wavelet> {
        let [dec_lo, dec_hi, rec_lo, rec_hi] = self.filters;
        let Some(dec_lo) = dec_lo else {
            if self.pairs.is_empty() {
                return Err(Error::input(format!(
                    "wavelet '{name}' has neither lifting steps nor filters"
                )));
            }
            let [low, high] = self.scales;
            let lifting = Lifting {
                pairs: self.pairs,
                ..Lifting::new([], low.unwrap_or(1.0), high.unwrap_or(1.0))
            };
            return Wavelet::from_lifting(name, lifting);
        };
        let mut bank = match rec_lo {
            Some(rec_lo) => Bank::biorthogonal(dec_lo, rec_lo),
            None => Bank::orthogonal(dec_lo),
        };
        bank.dec_hi = dec_hi.unwrap_or(bank.dec_hi);
        bank.rec_hi = rec_hi.unwrap_or(bank.rec_hi);
        let error = bank.reconstruction_error();
        if bank.is_empty()
            || bank.len() % 2 == 1
            || bank.len() > 512
            || error.is_nan()
            || error >= TOLERANCE
        {
            return Err(Error::input(format!(
                "wavelet '{name}': the filters must have one even length up to 512 and reconstruct (their deviation is {error:.1e}, allowed is {TOLERANCE:.0e})"
            )));
        }
        Ok(Wavelet::from_bank(name, bank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_steps_are_read() {
        let text = "# Daubechies 2\ndec_lo: -0.12940952255126037, 0.2241438680420134 0.8365163037378079 0.48296291314453416";
        let own = wavelet("own", text).unwrap();
        assert_eq!(own.bank(), Wavelet::named("db2").unwrap().bank());
        let text = "update 0: 0.5\npredict 0: -1\nlow 1\nhigh 1";
        let steps = wavelet("steps", text).unwrap();
        assert_eq!(steps.lifting().unwrap().pairs.len(), 2);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("", "neither"),
            ("predict x: 1", "line 1: 'x' is not an offset"),
            ("predict -2147483648: 1", "is not an offset"),
            ("update 0: a", "'a' is not a number"),
            ("nonsense", "expected"),
            ("dec_lo: 1 2 3 4", "reconstruct"),
            ("dec_lo: 1 2 3", "even length"),
            ("predict 0: inf", "finite"),
            ("predict 0: 1\nlow 0", "not zero"),
        ] {
            let error = wavelet("own", text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
