//! Weights by features.

use super::super::pair::{ALL, Channel, Offset, Partner, add_distance, partners};
use super::super::rows::{combine, overlap};
use super::BlockState;
use limpid_plan::fast_exp::fast_exp;

impl BlockState<'_, '_> {
    /// The minimum of colour and feature weights.
    #[inline(always)]
    pub(super) fn feature_weights(&mut self, y: usize, o: Offset) {
        let Some(features) = &self.nlm.features else {
            return;
        };
        let n = self.columns.len();
        let at = self.nlm.places().2;
        let (mean, variance, spread) = (&self.reads[at], &self.reads[at + 1], &self.reads[at + 2]);
        let mut first = 0;
        for feature in &features.list {
            for k in 0..self.kinds() {
                let d = &mut self.feature_d[k][..n];
                d.fill(0.0);
                let range = overlap(&self.columns, &o.columns(ALL[k]));
                if !range.is_empty() && o.rows(ALL[k]).contains(&y) {
                    let from = self.columns.start + range.start;
                    for c in first..first + feature.planes {
                        let channel = |(x, y): (usize, usize)| Channel {
                            value: &mean.row(c, y)[x..],
                            variance: &variance.row(c, y)[x..],
                            spread: &spread.row(c, y)[x..],
                        };
                        let p = channel((from, y));
                        let (q, number) = partners(ALL[k], o, (from, y), channel);
                        let d = &mut d[range.clone()];
                        let scale = (features.k * features.k, 1.0);
                        add_distance(d, p, &q[..number], scale, feature.tau);
                    }
                }
                let scale = 1.0 / feature.planes as f32;
                for (d, w) in d.iter_mut().zip(&mut *self.feature_w[k]) {
                    *d *= scale;
                    *w = fast_exp(-d.max(0.0));
                }
            }
            if self.nlm.symmetric && o.rows(Partner::Mean).contains(&y) {
                let range = overlap(&self.columns, &o.columns(Partner::Mean));
                combine(&mut self.feature_w, &self.feature_d, range);
            }
            for k in 0..2 {
                let w = &self.feature_w[k][..n];
                for (a, b) in self.w[k].iter_mut().zip(w) {
                    *a = a.min(*b);
                }
                for (a, b) in self.moved[k].iter_mut().zip(w) {
                    *a = a.min(*b);
                }
            }
            first += feature.planes;
        }
    }
}
