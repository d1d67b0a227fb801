//! The wavelet transform and its inverse, as filters of an image: coefficients fill an image.
//!
//! The definition is `definition::dwt`. With mirrored borders and lifting steps the CPU has one schedule, `fused`:
//! rows and columns in one pass over memory; on the GPU the schedules are the schemes of Kula 2021, tables 11.1 and 11.2,
//! with their mappings. Other boundaries, convolved wavelets, adjoint and undecimated transforms use `tables`.

mod ready;
mod reversible;
mod schedule;
mod tables;
mod volume;

pub use limpid_kernel_wavelet::dwt::{GroupShape, Mapping};
pub use limpid_reference::definition::dwt::Arrangement;
pub(super) use ready::Ready;
pub use schedule::DwtSchedule;

use super::{Backend, Define, Entry, Examples, InputKind, Method, Ordered, Schedule, Use};
use crate::{Error, Frame, Layer, Result, Shape, Size};
use limpid_plan::Plan;
use limpid_wavelet::{Boundary, Direction, Normalisation, Wavelet};

/// The transform and its inverse in the list of methods.
pub(super) const ENTRIES: [Entry; 2] = [
    Entry::new(
        "dwt",
        Use::Filter,
        "wavelet transform, sub-bands in one image",
        || Box::new(Dwt::default()),
    )
    .advised(&[(
        InputKind::Image,
        "wavelet coefficients, 110 wavelets: limpid dwt, limpid idwt",
    )]),
    Entry::new("idwt", Use::Filter, "inverse wavelet transform", || {
        Box::new(Idwt::default())
    }),
];

crate::choice! {
    /// The scale of coefficients.
    pub enum Scale {
        /// Preserves energy to the extent that the wavelet is orthogonal.
        Orthonormal = "orthonormal",
        /// `LL` of a constant is the constant, as in JPEG 2000.
        Unit = "unit",
    }
}

impl From<Scale> for Normalisation {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::Orthonormal => Self::Orthonormal,
            Scale::Unit => Self::Unit,
        }
    }
}

/// Declares one direction of the transform: the common options, its own options, and its description as a method.
macro_rules! transform {
    ($(#[$meta:meta])* $name:ident, $direction:expr, { $($own:tt)* }) => {
        crate::options! {
            $(#[$meta])*
            pub struct $name {
                /// Name of the wavelet: haar, cdf53, cdf97, dd137, b3, db2, sym4, bior4.4, …; or its steps, as in a file.
                pub wavelet: String = "cdf97".to_owned(),
                /// Number of levels of the transform.
                pub levels: usize = 3,
                /// The scale of coefficients.
                pub scale: Scale = Scale::Orthonormal,
                /// How the image continues beyond its borders.
                pub boundary: Boundary = Boundary::Mirror,
                /// The order of coefficients.
                pub layout: Arrangement = Arrangement::Subbands,
                /// Keep all samples of all bands, stacked: shifting the image shifts the coefficients.
                pub undecimated: bool = false,
                /// Integer transform without loss, for samples of this many bits; with cdf53.
                pub reversible: Option<usize> = None,
                /// The image is a volume or a film of this many frames, one below the other, which are also transformed along time.
                pub frames: Option<usize> = None,
                $($own)*
            }
        }

        impl $name {
            /// Options of both directions, resolved.
            fn looked_up(&self) -> Result<Ready> {
                Ok(Ready {
                    border: self.boundary,
                    layout: self.layout,
                    undecimated: self.undecimated,
                    reversible: self.reversible,
                    frames: self.frames,
                    ..Ready::new(&self.wavelet, self.levels, self.scale)?
                })
            }

            /// The transform by a wavelet, `levels` deep.
            fn by(wavelet: &str, levels: usize, scale: Scale) -> Self {
                Self {
                    wavelet: wavelet.to_owned(),
                    levels,
                    scale,
                    ..Self::default()
                }
            }

            /// Examples for both directions.
            fn shared_examples() -> Vec<Self> {
                vec![
                    Self::by("cdf97", 2, Scale::Orthonormal),
                    Self::by("cdf53", 1, Scale::Orthonormal),
                    Self::by("db2", 2, Scale::Orthonormal),
                    Self {
                        reversible: Some(8),
                        ..Self::by("cdf53", 3, Scale::Unit)
                    },
                    Self {
                        layout: Arrangement::Interleaved,
                        ..Self::by("db2", 3, Scale::Unit)
                    },
                    // A single frame, which divides any number of rows: the test sizes have no common divisor.
                    Self {
                        frames: Some(1),
                        ..Self::by("cdf97", 2, Scale::Orthonormal)
                    },
                ]
            }
        }

        impl Method for $name {
            fn name(&self) -> &'static str {
                ENTRIES[usize::from($direction == Direction::Inverse)].name
            }

            fn prepared(&self, _frame: &Frame) -> Result<Box<dyn Method>> {
                if $direction == Direction::Forward {
                    self.ready()?.tell();
                }
                Ok(self.boxed())
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                listed(self.ready(), on, $direction)
            }

            fn tileable(&self) -> Option<Box<dyn Method>> {
                self.ready().ok().filter(Ready::has_place)?;
                Some(Box::new(Self {
                    layout: Arrangement::Interleaved,
                    ..self.clone()
                }))
            }

            fn ordered(&self, frame: &Frame, what: Ordered) -> Result<Option<Frame>> {
                match reordered($direction, what) {
                    Some(orders) => Ok(Some(self.ready()?.moved(frame, orders)?)),
                    None => Ok(None),
                }
            }

            fn schedule(&self, on: Backend, name: &str) -> Option<Result<Schedule>> {
                self.ready().ok()?.unlisted(on, name, $direction)
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                let ready = self.ready()?;
                let size = self.image_size(&ready, shape.size)?;
                ready.plan(shape, size, schedule, $direction)
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }

        impl Define for $name {
            fn define(&self, frame: &Frame) -> Result<Frame> {
                let ready = self.ready()?;
                let image = frame.require(Layer::COLOR)?;
                let size = self.image_size(&ready, image.size())?;
                Frame::new(match $direction {
                    Direction::Forward => ready.define(image)?,
                    _ => ready.define_back(image, size)?,
                })
            }
        }

        impl Examples for $name {
            fn examples(&self) -> Vec<Box<dyn Method>> {
                let all = Self::shared_examples().into_iter().chain(Self::own_examples());
                all.map(|method| method.boxed()).collect()
            }
        }
    };
}

transform! {
    /// The wavelet transform with its options.
    Dwt, Direction::Forward, {}
}

transform! {
    /// The inverse transform with its options.
    Idwt, Direction::Inverse, {
        /// Size of the image, if it does not follow from the coefficients.
        pub size: Option<Size> = None,
        /// The transpose of the transform instead of its inverse.
        pub adjoint: bool = false,
    }
}

impl Dwt {
    fn ready(&self) -> Result<Ready> {
        self.looked_up()?.checked()
    }

    /// The image is the input.
    fn image_size(&self, _: &Ready, read: Size) -> Result<Size> {
        Ok(read)
    }

    fn own_examples() -> Vec<Self> {
        let mut examples = vec![
            Self::by("dd137", 1, Scale::Unit),
            Self {
                undecimated: true,
                ..Self::by("sym4", 2, Scale::Orthonormal)
            },
        ];
        let boundaries = [
            Boundary::Smooth,
            Boundary::Antireflect,
            Boundary::Periodization,
        ];
        examples.extend(boundaries.map(|boundary| Self {
            boundary,
            ..Self::by("bior2.2", 2, Scale::Unit)
        }));
        examples
    }
}

impl Idwt {
    fn ready(&self) -> Result<Ready> {
        Ready {
            adjoint: self.adjoint,
            ..self.looked_up()?
        }
        .checked()
    }

    /// The size of the image whose coefficients fill an image of this size.
    fn image_size(&self, ready: &Ready, filled: Size) -> Result<Size> {
        match self.size {
            Some(size) => Ok(size),
            None if ready.undecimated => {
                let bands = 3 * ready.levels + 1;
                if !filled.height.is_multiple_of(bands) {
                    return Err(Error::mismatch(format!(
                        "{bands} undecimated bands do not fill an image of {filled}"
                    )));
                }
                Ok(Size::new(filled.width, filled.height / bands))
            }
            None if ready.border.expands() => {
                let expected = format!(
                    "the size of the image, because boundary '{}' has more coefficients than pixels",
                    ready.border
                );
                Err(Error::option("size", "auto", expected))
            }
            None => Ok(filled),
        }
    }

    fn own_examples() -> Vec<Self> {
        vec![Self {
            adjoint: true,
            ..Self::by("cdf97", 2, Scale::Unit)
        }]
    }
}

/// How [`Method::tileable`] reorders a frame: coefficients are the result of the forward and the input of the inverse
/// transform.
fn reordered(direction: Direction, what: Ordered) -> Option<(Arrangement, Arrangement)> {
    match (direction, what) {
        (Direction::Forward, Ordered::Result) => {
            Some((Arrangement::Interleaved, Arrangement::Subbands))
        }
        (Direction::Inverse, Ordered::Input) => {
            Some((Arrangement::Subbands, Arrangement::Interleaved))
        }
        _ => None,
    }
}

/// A wavelet by its name or by its lifting steps as text.
pub(super) fn wavelet(text: &str) -> Result<Wavelet> {
    if text.contains(':') {
        return Wavelet::parse("own", text);
    }
    Wavelet::named(text)
}

/// The schedules; if options are wrong, a single one whose plan reports the error.
fn listed(ready: Result<Ready>, on: Backend, direction: Direction) -> Vec<Schedule> {
    match ready {
        Ok(ready) => ready.schedules(on, direction),
        Err(_) => Schedule::list(on, [DwtSchedule::Fused]),
    }
}
