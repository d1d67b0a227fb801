//! The transform of a line as tables: the terms of each output value.

use super::line::{Line, counts};
use super::{Dwt, Pass};
use limpid_core::Result;
use limpid_wavelet::{Boundary, Wavelet};

/// Index and weight of the terms of each value.
pub type Table = Vec<Vec<(usize, f64)>>;

/// Tables for a line of `n` samples: forward those of low and of high coefficients over samples, otherwise those of samples
/// over low and over high coefficients.
pub fn line_tables(dwt: &Dwt, n: usize, pass: Pass) -> Result<[Table; 2]> {
    let (wavelet, border) = (&dwt.wavelet, dwt.border);
    let (l, h) = counts(n, wavelet, border);
    let line = Line::new(wavelet, border, n)?;
    let bank = wavelet.bank();
    let tables = if border == Boundary::Mirror {
        lifted(&line, n, (l, h), pass)?
    } else if pass == Pass::Inverse {
        let table = |filter: &[f64], count: usize| {
            let all = (0..count).map(|i| line.spread(filter, i, count));
            transposed(all, n)
        };
        [table(&bank.rec_lo, l), table(&bank.rec_hi, h)]
    } else {
        let table = |filter: &[f64], count: usize| -> Table {
            (0..count).map(|i| line.taps(filter, i)).collect()
        };
        let forward = [table(&bank.dec_lo, l), table(&bank.dec_hi, h)];
        match pass {
            Pass::Adjoint => forward.map(|t| transposed(t, n)),
            Pass::Forward | Pass::Inverse => forward,
        }
    };
    let (low, high) = dwt.factors(pass);
    let [a, b] = tables;
    Ok([scaled(a, low), scaled(b, high)])
}

/// Tables of the undecimated transform at a level.
pub fn spread_tables(wavelet: &Wavelet, n: usize, level: usize, pass: Pass) -> [Table; 2] {
    let bank = wavelet.bank();
    let half = bank.len() as i64 / 2;
    let (filters, start, factor) = match pass {
        Pass::Inverse => ([&bank.rec_lo, &bank.rec_hi], half - 1, 0.5),
        Pass::Forward | Pass::Adjoint => ([&bank.dec_lo, &bank.dec_hi], half, 1.0),
    };
    filters.map(|filter| {
        let value = |at: usize| {
            let term = |(j, f): (usize, &f64)| {
                let from = at as i64 + ((start - j as i64) << level);
                (from.rem_euclid(n as i64) as usize, factor * f)
            };
            merged(filter.iter().enumerate().map(term).collect())
        };
        (0..n).map(value).collect()
    })
}

/// Tables of lifting steps, from their impulse responses.
fn lifted(line: &Line<'_>, n: usize, (l, h): (usize, usize), pass: Pass) -> Result<[Table; 2]> {
    let found = |values: &[f64]| -> Vec<(usize, f64)> {
        let all = values.iter().copied().enumerate();
        all.filter(|(_, v)| *v != 0.0).collect()
    };
    let unit = |count: usize, at: usize| -> Vec<f64> {
        (0..count).map(|i| f64::from(u8::from(i == at))).collect()
    };
    if pass == Pass::Inverse {
        let low = (0..l).map(|i| line.inverse(&unit(l, i), &vec![0.0; h]));
        let low: Vec<Vec<f64>> = low.collect::<Result<_>>()?;
        let high = (0..h).map(|i| line.inverse(&vec![0.0; l], &unit(h, i)));
        let high: Vec<Vec<f64>> = high.collect::<Result<_>>()?;
        return Ok([low, high].map(|t| transposed(t.iter().map(|v| found(v)), n)));
    }
    let (mut low, mut high) = (Table::new(), Table::new());
    for i in 0..n {
        let (a, b) = line.forward(&unit(n, i))?;
        low.push(found(&a));
        high.push(found(&b));
    }
    // The results are columns: the coefficients that a sample contributes to.
    Ok(match pass {
        Pass::Adjoint => [low, high],
        Pass::Forward | Pass::Inverse => [transposed(low, l), transposed(high, h)],
    })
}

/// Rows from columns.
fn transposed(columns: impl IntoIterator<Item = Vec<(usize, f64)>>, rows: usize) -> Table {
    let mut table = vec![Vec::new(); rows];
    for (i, column) in columns.into_iter().enumerate() {
        for (row, weight) in column {
            table[row].push((i, weight));
        }
    }
    table
}

fn scaled(table: Table, factor: f64) -> Table {
    let row =
        |row: Vec<(usize, f64)>| merged(row.into_iter().map(|(i, w)| (i, factor * w)).collect());
    table.into_iter().map(row).collect()
}

/// Merges terms with equal index.
fn merged(mut row: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    row.sort_by_key(|(i, _)| *i);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    row
}
