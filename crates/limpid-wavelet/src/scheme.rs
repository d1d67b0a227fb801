//! The calculation schemes of Kula 2021: one transform, many orders of its operations.

use super::{Laurent, Lifting, Matrix, Taps};
use limpid_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How the operations of a 2-D transform are grouped into steps (Kula 2021, tables 11.1 and 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// All horizontal steps fused, then all vertical ones.
    SeparableConvolution,
    /// Per pair: horizontal steps fused, then vertical ones.
    SeparablePolyconvolution,
    /// Per pair: horizontal steps fused, vertical ones lifted.
    SeparablePolyconvolutionX,
    /// Per pair: horizontal steps lifted, vertical ones fused.
    SeparablePolyconvolutionY,
    /// Per pair: horizontal predict and update, then vertical ones.
    SeparableLifting,
    /// Per pair: both predicts, then both updates ("Sweldens").
    SeparableLiftingPlus,
    /// Three spatial steps, data flow into `HH` first and into `LL` last ("Iwahashi").
    Implosion,
    /// Three spatial steps, data flow out of `LL` first and out of `HH` last ("Explosive").
    Explosion,
    /// A spatial predict and a spatial update ("Monolithic").
    Lifting,
    /// One step per pair ("Polyphase").
    Polyconvolution,
    /// One step for everything.
    Convolution,
    /// As `Lifting`, with the operations inside a quad along y done separately ("Kula2016", chapter 7): 20 operations per pair,
    /// between the 24 of `lifting` and the 18 of `lifting*`. Not in the tables.
    LiftingY,
}

/// Which operations inside a quad are done separately (Kula 2021, section 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// None.
    Basic,
    /// Those before and after the spatial steps; the first ones before the first barrier: compute kernels. Written `*`.
    Star,
    /// As `Star`, but nothing can be done before the first step: graphics pipeline. Written `#`.
    Sharp,
}

/// A scheme's name: `lifting*`, `separable-polyconvolution-x#`, `sweldens`.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod wavelet { pub use limpid_wavelet::*; } }
/// use limpid::wavelet::{Form, Kind, SchemeName};
/// let name: SchemeName = "monolithic*".parse()?;
/// assert_eq!(name, SchemeName::new(Kind::Lifting, Form::Star));
/// assert_eq!(name.to_string(), "lifting*");
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemeName {
    /// The grouping.
    pub kind: Kind,
    /// The optimisation.
    pub form: Form,
}

/// Names, and the names of Kula 2021, chapter 8, in the order of table 11.1.
const NAMES: [(Kind, &str, &str); 12] = [
    (Kind::SeparableConvolution, "separable-convolution", ""),
    (
        Kind::SeparablePolyconvolution,
        "separable-polyconvolution",
        "",
    ),
    (
        Kind::SeparablePolyconvolutionX,
        "separable-polyconvolution-x",
        "",
    ),
    (
        Kind::SeparablePolyconvolutionY,
        "separable-polyconvolution-y",
        "",
    ),
    (Kind::SeparableLifting, "separable-lifting", ""),
    (Kind::SeparableLiftingPlus, "separable-lifting+", "sweldens"),
    (Kind::Implosion, "implosion", "iwahashi"),
    (Kind::Explosion, "explosion", "explosive"),
    (Kind::Lifting, "lifting", "monolithic"),
    (Kind::Polyconvolution, "polyconvolution", "polyphase"),
    (Kind::Convolution, "convolution", ""),
    (Kind::LiftingY, "lifting-y", "kula2016"),
];

impl Kind {
    /// All kinds, in the order of table 11.1.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|n| n.0).take(11)
    }

    /// Whether the kind has an optimised form: separable lifting has no benefit from it.
    pub fn has_forms(self) -> bool {
        !matches!(
            self,
            Self::SeparableLifting | Self::SeparableLiftingPlus | Self::LiftingY
        )
    }
}

impl SchemeName {
    /// A kind in a form.
    pub const fn new(kind: Kind, form: Form) -> Self {
        Self { kind, form }
    }

    /// The twenty schemes of table 11.1 (compute) with `Form::Star`, of table 11.2 (graphics) with `Form::Sharp`.
    pub fn all(optimised: Form) -> Vec<Self> {
        Kind::all()
            .flat_map(|kind| [Self::new(kind, Form::Basic), Self::new(kind, optimised)])
            .filter(|n| n.form == Form::Basic || n.kind.has_forms())
            .collect()
    }
}

impl fmt::Display for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|n| n.0 == self.kind).map_or("", |n| n.1);
        let mark = match self.form {
            Form::Basic => "",
            Form::Star => "*",
            Form::Sharp => "#",
        };
        write!(f, "{name}{mark}")
    }
}

impl FromStr for SchemeName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        let (name, form) = match (lower.strip_suffix('*'), lower.strip_suffix('#')) {
            (Some(name), _) => (name, Form::Star),
            (_, Some(name)) => (name, Form::Sharp),
            _ => (lower.as_str(), Form::Basic),
        };
        NAMES
            .iter()
            .find(|(kind, long, old)| {
                (*long == name || (!old.is_empty() && *old == name))
                    && (form == Form::Basic || kind.has_forms())
            })
            .map(|n| Self::new(n.0, form))
            .ok_or_else(|| {
                let known: Vec<String> = Self::all(Form::Star)
                    .iter()
                    .map(|n| n.to_string())
                    .collect();
                Error::unknown("scheme", text, known.iter().map(String::as_str))
            })
    }
}

/// The direction of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Image to coefficients.
    Forward,
    /// Coefficients to image.
    Inverse,
    /// The transpose of the forward transform.
    Adjoint,
}

/// A scheme for one wavelet: matrices with barriers.
///
/// `stages[0]` runs before the first barrier and stays inside the quads. A barrier precedes each further stage; only the first
/// of its matrices reads other quads. Scaling is omitted, as in the paper.
///
/// Invariants: all schemes of a wavelet and direction have the same [`product`](Self::product).
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// Its name.
    pub name: SchemeName,
    /// The matrices, in order.
    pub stages: Vec<Vec<Matrix>>,
}

impl Scheme {
    /// Multiplications of all matrices.
    pub fn operations(&self) -> usize {
        self.stages.iter().flatten().map(Matrix::operations).sum()
    }

    /// The scheme of this name for a wavelet's lifting steps.
    pub fn new(lifting: &Lifting, name: SchemeName, direction: Direction) -> Self {
        let forward = |p: &super::Pair| (p.predict.polynomial(), p.update.polynomial());
        // Undoing the steps, like transposing them, is again a lifting, from the last step to the first: updates become
        // predicts. The inverse lifts even samples first, so the samples of quads are swapped.
        let backward = |map: &dyn Fn(&Laurent) -> Laurent| {
            let pairs = lifting.pairs.iter().rev().map(forward);
            pairs.map(|(p, u)| (map(&u), map(&p))).collect()
        };
        let pairs: Vec<(Laurent, Laurent)> = match direction {
            Direction::Forward => lifting.pairs.iter().map(forward).collect(),
            Direction::Inverse => backward(&|p| -p),
            Direction::Adjoint => backward(&|p| p.reversed()),
        };
        let mut builder = Builder {
            stages: vec![Vec::new()],
            form: name.form,
        };
        builder.build(name.kind, &pairs);
        let swap = direction == Direction::Inverse;
        let stages = builder.stages.into_iter().map(|stage| {
            let stage = stage.into_iter().filter(|m| !m.is_identity());
            let renamed = stage.map(|m| if swap { m.permuted([3, 2, 1, 0]) } else { m });
            renamed.collect::<Vec<_>>()
        });
        Self {
            name,
            stages: stages
                .enumerate()
                .filter(|(i, s)| *i == 0 || !s.is_empty())
                .map(|(_, s)| s)
                .collect(),
        }
    }

    /// The product of all matrices, which is the transform that the scheme computes.
    pub fn product(&self) -> Matrix {
        let all = self.stages.iter().flatten();
        all.fold(Matrix::identity(), |done, m| m * &done)
    }
}

/// Collects the stages of a scheme.
struct Builder {
    stages: Vec<Vec<Matrix>>,
    form: Form,
}

/// Both axes of one pair of steps.
struct Steps {
    predict: Laurent,
    update: Laurent,
}

impl Steps {
    fn new(predict: &Laurent, update: &Laurent) -> Self {
        Self {
            predict: predict.clone(),
            update: update.clone(),
        }
    }

    fn predict_h(&self) -> Matrix {
        let p = &self.predict;
        Matrix::with([(1, 0, p.clone()), (3, 2, p.clone())])
    }

    fn update_h(&self) -> Matrix {
        let u = &self.update;
        Matrix::with([(0, 1, u.clone()), (2, 3, u.clone())])
    }

    fn predict_v(&self) -> Matrix {
        self.predict_h().transposed()
    }

    fn update_v(&self) -> Matrix {
        self.update_h().transposed()
    }

    /// `N^H` of a single pair: `[1+UP, U; P, 1]`.
    fn both_h(&self) -> Matrix {
        &self.update_h() * &self.predict_h()
    }

    fn both_v(&self) -> Matrix {
        self.both_h().transposed()
    }

    /// `P`, `P*` and `PP*` (or those of `U`).
    fn spatial(filter: &Laurent) -> [Laurent; 3] {
        let across = filter.transposed();
        let product = filter * &across;
        [filter.clone(), across, product]
    }

    /// Eq. 8.21.
    fn implode_predict(&self) -> Matrix {
        let [p, q, pq] = Self::spatial(&self.predict);
        Matrix::with([(3, 0, pq), (3, 1, q), (3, 2, p)])
    }

    /// Eq. 8.22.
    fn implode_middle(&self) -> Matrix {
        let [p, q, _] = Self::spatial(&self.predict);
        let [u, w, _] = Self::spatial(&self.update);
        Matrix::with([(1, 0, p), (1, 3, w), (2, 0, q), (2, 3, u)])
    }

    /// Eq. 8.23.
    fn implode_update(&self) -> Matrix {
        let [u, w, uw] = Self::spatial(&self.update);
        Matrix::with([(0, 1, u), (0, 2, w), (0, 3, -&uw)])
    }

    /// Eq. 8.25.
    fn explode_predict(&self) -> Matrix {
        let [p, q, pq] = Self::spatial(&self.predict);
        Matrix::with([(1, 0, p), (2, 0, q), (3, 0, -&pq)])
    }

    /// Eq. 8.26.
    fn explode_middle(&self) -> Matrix {
        let [p, q, _] = Self::spatial(&self.predict);
        let [u, w, _] = Self::spatial(&self.update);
        Matrix::with([(0, 1, u), (0, 2, w), (3, 1, q), (3, 2, p)])
    }

    /// Eq. 8.27.
    fn explode_update(&self) -> Matrix {
        let [u, w, uw] = Self::spatial(&self.update);
        Matrix::with([(0, 3, uw), (1, 3, w), (2, 3, u)])
    }
}

impl Builder {
    fn step(&mut self, matrices: impl Into<Vec<Matrix>>) {
        self.stages.push(matrices.into());
    }

    /// Adds operations inside the quads, at the end of the last stage.
    fn local(&mut self, matrices: impl IntoIterator<Item = Matrix>) {
        if let Some(last) = self.stages.last_mut() {
            last.extend(matrices);
        }
    }

    fn split(&self, p: &Laurent) -> (Laurent, Laurent) {
        match self.form {
            Form::Basic => (Laurent::zero(), p.clone()),
            Form::Star | Form::Sharp => p.split(),
        }
    }

    fn build(&mut self, kind: Kind, pairs: &[(Laurent, Laurent)]) {
        match kind {
            Kind::SeparableConvolution | Kind::Convolution => self.convolution(kind, pairs),
            _ => {
                for (p, u) in pairs {
                    self.pair(kind, p, u);
                }
            }
        }
        if self.form == Form::Sharp {
            self.start_at_first_step();
        }
    }

    fn pair(&mut self, kind: Kind, p: &Laurent, u: &Laurent) {
        let whole = Steps::new(p, u);
        let ((p0, p1), (u0, u1)) = (self.split(p), self.split(u));
        let (own, far) = (Steps::new(&p0, &u0), Steps::new(&p1, &u1));
        let own_predicts = [own.predict_h(), own.predict_v()];
        let [own_h, own_v] = [own.update_h(), own.update_v()];
        match kind {
            Kind::SeparablePolyconvolution => {
                self.local([own.predict_h()]);
                self.step([far.both_h(), own_h, own.predict_v()]);
                self.step([far.both_v(), own_v]);
            }
            Kind::SeparablePolyconvolutionX => {
                self.local([own.predict_h()]);
                self.step([far.both_h(), own_h]);
                self.step([whole.predict_v()]);
                self.step([whole.update_v()]);
            }
            Kind::SeparablePolyconvolutionY => {
                self.step([whole.predict_h()]);
                self.step([whole.update_h(), own.predict_v()]);
                self.step([far.both_v(), own_v]);
            }
            Kind::SeparableLifting => {
                self.step([whole.predict_h()]);
                self.step([whole.update_h()]);
                self.step([whole.predict_v()]);
                self.step([whole.update_v()]);
            }
            Kind::SeparableLiftingPlus => {
                self.step([whole.predict_h()]);
                self.step([whole.predict_v()]);
                self.step([whole.update_h()]);
                self.step([whole.update_v()]);
            }
            // Without a stage before the first step its predicts are not split: the same number of operations, and two writes
            // fewer.
            Kind::Implosion if self.form == Form::Sharp && self.stages.len() == 1 => {
                let first = Steps::new(p, &u1);
                self.step([first.implode_predict()]);
                self.step([first.implode_middle()]);
                self.step([first.implode_update(), own_h, own_v]);
            }
            Kind::Implosion => {
                self.local(own_predicts);
                self.step([far.implode_predict()]);
                self.step([far.implode_middle()]);
                self.step([far.implode_update(), own_h, own_v]);
            }
            Kind::Explosion => {
                self.local(own_predicts);
                self.step([far.explode_predict()]);
                self.step([far.explode_middle()]);
                self.step([far.explode_update(), own_h, own_v]);
            }
            Kind::Lifting => {
                let [h, v] = own_predicts;
                // Eq. 8.33 computes the first pair's local predicts after the spatial step. With a barrier after them, those of
                // further pairs can be computed before it, at no cost.
                if self.stages.len() == 1 {
                    self.step([&far.predict_v() * &far.predict_h(), h, v]);
                } else {
                    self.local([h, v]);
                    self.step([&far.predict_v() * &far.predict_h()]);
                }
                self.step([&far.update_v() * &far.update_h(), own_h, own_v]);
            }
            Kind::LiftingY => {
                let ((p0, p1), (u0, u1)) = (p.split(), u.split());
                let (own, far) = (Steps::new(&p0, &u0), Steps::new(&p1, &u1));
                self.step([&far.predict_v() * &whole.predict_h(), own.predict_v()]);
                self.step([&far.update_v() * &whole.update_h(), own.update_v()]);
            }
            Kind::Polyconvolution => {
                self.local(own_predicts);
                self.step([&far.both_v() * &far.both_h(), own_h, own_v]);
            }
            Kind::SeparableConvolution | Kind::Convolution => {}
        }
    }

    /// One step for all pairs, per axis or for both: only the first predict and the last update can be split.
    fn convolution(&mut self, kind: Kind, pairs: &[(Laurent, Laurent)]) {
        let (Some((p, _)), Some((_, u))) = (pairs.first(), pairs.last()) else {
            return;
        };
        let ((p0, p1), (u0, u1)) = (self.split(p), self.split(u));
        let own = Steps::new(&p0, &u0);
        let last = pairs.len() - 1;
        let inner = |i: usize| {
            let p = if i == 0 { &p1 } else { &pairs[i].0 };
            let u = if i == last { &u1 } else { &pairs[i].1 };
            Steps::new(p, u).both_h()
        };
        let across = (0..=last).fold(Matrix::identity(), |done, i| &inner(i) * &done);
        let down = across.transposed();
        if kind == Kind::Convolution {
            self.local([own.predict_h(), own.predict_v()]);
            self.step([&down * &across, own.update_h(), own.update_v()]);
        } else {
            self.local([own.predict_h()]);
            self.step([across, own.update_h(), own.predict_v()]);
            self.step([down, own.update_v()]);
        }
    }

    /// Moves the operations before the first barrier into the first step: a graphics pass reads the image unchanged.
    fn start_at_first_step(&mut self) {
        let before = std::mem::take(&mut self.stages[0]);
        if let Some(first) = self.stages.get_mut(1).and_then(|s| s.first_mut()) {
            for matrix in before.iter().rev() {
                *first = &*first * matrix;
            }
        }
    }
}

/// The taps of a polynomial along x, for users of a scheme that need a plain filter.
impl From<&Laurent> for Taps {
    fn from(p: &Laurent) -> Self {
        let first = p.terms().map(|(at, _)| at.0).min().unwrap_or(0);
        let last = p.terms().map(|(at, _)| at.0).max().unwrap_or(-1);
        let mut values = vec![0.0; (last - first + 1).max(0) as usize];
        for ((i, _), c) in p.terms() {
            values[(i - first) as usize] += c;
        }
        Self::new(first, values)
    }
}
