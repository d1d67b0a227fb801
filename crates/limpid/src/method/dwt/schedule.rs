//! The schedules of a transform.

use super::Ready;
use crate::method::{Backend, Schedule};
use crate::{Error, Result};
use limpid_kernel_wavelet::dwt::{Mapping, StripTile, keeps_mirrored};
use limpid_wavelet::{Direction, Form, Kind, Lifting, SchemeName};
use std::fmt;
use std::str::FromStr;

/// How the levels of a transform are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DwtSchedule {
    /// CPU: rows and columns of a level in one pass over memory.
    Fused,
    /// Integers, along rows, then along columns.
    Whole,
    /// By tables of weights, along rows, then along columns.
    Tables,
    /// GPU: a scheme of Kula 2021, and where samples of other quads come from.
    Scheme(SchemeName, Mapping),
}

impl DwtSchedule {
    /// The scheme on a GPU.
    pub fn scheme(self) -> Option<SchemeName> {
        match self {
            Self::Scheme(name, _) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for DwtSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fused => f.write_str("fused"),
            Self::Whole => f.write_str("whole"),
            Self::Tables => f.write_str("tables"),
            Self::Scheme(name, Mapping::Single) => write!(f, "{name}"),
            Self::Scheme(name, mapping) => write!(f, "{name}:{mapping}"),
        }
    }
}

impl FromStr for DwtSchedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match (text, text.split_once(':')) {
            ("fused", _) => Self::Fused,
            ("whole", _) => Self::Whole,
            ("tables", _) => Self::Tables,
            (_, Some((name, mapping))) => Self::Scheme(name.parse()?, mapping.parse()?),
            (name, None) => Self::Scheme(name.parse()?, Mapping::Single),
        })
    }
}

/// Rows, then columns: the scheme of passes along one axis.
const SEPARABLE: SchemeName = SchemeName::new(Kind::SeparableLifting, Form::Basic);

/// The scheme missing from the tables.
const KULA2016: SchemeName = SchemeName::new(Kind::LiftingY, Form::Basic);

/// A few schemes that differ most, for the other mappings.
const FEW: [Kind; 4] = [
    Kind::SeparableLiftingPlus,
    Kind::Explosion,
    Kind::Lifting,
    Kind::Polyconvolution,
];

impl Ready {
    /// An unlisted schedule by name: a scheme by its name in the thesis, or any scheme with generator parameters.
    pub(in crate::method) fn unlisted(
        &self,
        on: Backend,
        name: &str,
        direction: Direction,
    ) -> Option<Result<Schedule>> {
        let parsed: DwtSchedule = match name.parse() {
            Ok(parsed) => parsed,
            // Invalid generator parameters have their own message; for an unknown name, the nearest ones are listed.
            Err(error) => {
                let mapping = name.split_once(':').map_or("", |(_, mapping)| mapping);
                let shaped = mapping.starts_with(|c: char| c.is_ascii_digit())
                    || mapping.starts_with("pipeline-");
                let known = match on {
                    Backend::Gpu => shaped,
                    Backend::Cpu => mapping.starts_with("strips-"),
                };
                return known.then_some(Err(error));
            }
        };
        let mut known = self.schedules(on, direction).into_iter();
        let listed = known.find(|s| s.choice().is_ok_and(|choice: DwtSchedule| choice == parsed));
        match (listed, parsed) {
            (Some(listed), _) => Some(Ok(listed)),
            (None, DwtSchedule::Scheme(scheme, Mapping::Shaped(_))) if on == Backend::Gpu => {
                self.shaped(name, scheme, parsed)
            }
            (None, DwtSchedule::Scheme(scheme, mapping)) => {
                let lifting = self.wavelet.lifting().filter(|_| self.lifted())?;
                let fits = match mapping {
                    Mapping::Strips(_) => on == Backend::Cpu,
                    Mapping::Pipeline(_) => on == Backend::Gpu && scheme == SEPARABLE,
                    _ => false,
                };
                let known = fits && keeps_mirrored(lifting);
                known.then(|| Ok(Schedule::new(on, parsed)))
            }
            (None, _) => None,
        }
    }

    /// A scheme with generator parameters.
    fn shaped(
        &self,
        name: &str,
        scheme: SchemeName,
        parsed: DwtSchedule,
    ) -> Option<Result<Schedule>> {
        let lifting = self.wavelet.lifting().filter(|_| self.lifted())?;
        let single = matches!(
            scheme.kind,
            Kind::SeparableLifting | Kind::SeparableLiftingPlus
        );
        if !single && !keeps_mirrored(lifting) {
            let expected = "separable-lifting or separable-lifting+, the only schemes that support mirrored borders for this wavelet";
            return Some(Err(Error::option("schedule", name, expected)));
        }
        Some(Ok(Schedule::new(Backend::Gpu, parsed)))
    }

    /// The schedules for a back end, the best first.
    pub(in crate::method) fn schedules(&self, on: Backend, direction: Direction) -> Vec<Schedule> {
        let Some(lifting) = self.wavelet.lifting().filter(|_| self.lifted()) else {
            let by = if self.reversible.is_some() {
                DwtSchedule::Whole
            } else {
                DwtSchedule::Tables
            };
            return Schedule::list(on, [by]);
        };
        if on == Backend::Cpu {
            let mut all = vec![DwtSchedule::Fused];
            if keeps_mirrored(lifting) {
                let schemes = SchemeName::all(Form::Star).into_iter().chain([KULA2016]);
                let strips = Mapping::Strips(StripTile::default());
                all.extend(schemes.map(|name| DwtSchedule::Scheme(name, strips)));
            }
            return Schedule::list(on, all);
        }
        let mut all = if keeps_mirrored(lifting) {
            symmetric(direction)
        } else {
            // Only single steps can mirror their inputs.
            let plain = SchemeName::new(Kind::SeparableLifting, Form::Basic);
            let plus = SchemeName::new(Kind::SeparableLiftingPlus, Form::Basic);
            vec![
                (plus, Mapping::Single),
                (plain, Mapping::Single),
                (plus, Mapping::Double),
                (plus, Mapping::Fragment),
            ]
        };
        // Long filters leave no valid part of a workgroup's region.
        all.retain(|(_, mapping)| reach(lifting) < 16 || *mapping == Mapping::Fragment);
        let scheme = |(name, mapping)| DwtSchedule::Scheme(name, mapping);
        Schedule::list(on, all.into_iter().map(scheme))
    }
}

/// Schemes of wavelets that keep a mirrored signal mirrored.
fn symmetric(direction: Direction) -> Vec<(SchemeName, Mapping)> {
    let best = SchemeName::new(Kind::Lifting, Form::Star);
    let few = |form: Form, mapping: Mapping| {
        FEW.map(|kind| {
            let form = if kind.has_forms() { form } else { Form::Basic };
            (SchemeName::new(kind, form), mapping)
        })
    };
    // Measured to be fastest with subgroups of one size; without them it falls back to workgroup memory.
    let mut all = vec![(best, Mapping::Shuffle), (best, Mapping::Single)];
    let schemes = SchemeName::all(Form::Star);
    all.extend(schemes.iter().map(|n| (*n, Mapping::Single)));
    let steps = |n: &&SchemeName| !matches!(n.kind, Kind::Convolution | Kind::SeparableConvolution);
    let stepped = schemes.iter().filter(steps);
    all.extend(stepped.map(|n| (*n, Mapping::Shuffle)));
    all.extend(few(Form::Star, Mapping::Double));
    if direction == Direction::Forward {
        all.push((best, Mapping::Texture));
    }
    all.push((SEPARABLE, Mapping::Pipeline(4)));
    all.extend([KULA2016].map(|n| (n, Mapping::Single)));
    all.extend([KULA2016].map(|n| (n, Mapping::Shuffle)));
    let drawn = SchemeName::all(Form::Sharp).into_iter().chain([KULA2016]);
    all.extend(drawn.map(|n| (n, Mapping::Fragment)));
    let mut known = std::collections::HashSet::new();
    all.retain(|one| known.insert(*one));
    all
}

/// How many quads all steps reach, to the left and to the right.
fn reach(lifting: &Lifting) -> i32 {
    let steps = lifting.pairs.iter().flat_map(|p| [&p.predict, &p.update]);
    steps.map(|taps| 2 * taps.reach()).sum()
}
