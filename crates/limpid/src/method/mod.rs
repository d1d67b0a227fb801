//! Methods, their options and their plans.
//!
//! A [`Method`] is an algorithm with its options. It writes a [`Plan`] for a shape and a [`Schedule`]; it does not access
//! pixels or the GPU. [`METHODS`] lists all of them; [`find`] gets one by name.

mod auto;
mod bundled;
mod chosen;
mod descent;
mod dwt;
mod entry;
mod lights;
mod measure;
mod network;
mod option;
pub mod photo;
mod schedule;
mod shrink;

pub mod atrous;
pub mod camera;
pub mod ddid;
pub mod eaw;
pub mod ensemble;
pub mod film;
pub mod neural;
pub mod nfor;
pub mod nlm;
pub mod patch;
pub mod poisson;
pub mod rdfc;
pub mod svgf;
pub mod taa;
pub mod window;

pub use atrous::Atrous;
pub use auto::{Auto, Quality, suggest};
pub use camera::Camera;
pub(crate) use chosen::Chosen;
pub use ddid::Ddid;
pub use dwt::{Arrangement, Dwt, Idwt, Scale};
#[doc(hidden)]
pub use dwt::{DwtSchedule, GroupShape, Mapping};
pub use eaw::Eaw;
pub use ensemble::Ensemble;
pub use entry::{Entry, InputKind, QUALITY, Steps, Use};
pub use film::Film;
pub use neural::Neural;
pub use nfor::Nfor;
pub use nlm::Nlm;
pub use option::{NamedOptions, OptionInfo};
#[doc(hidden)]
pub use option::{Refused, Value};
pub use patch::Patch;
pub use poisson::Poisson;
pub use rdfc::Rdfc;
pub use schedule::{Schedule, ScheduleChoice, schedule};
pub use shrink::{Shrink, Threshold};
pub use svgf::Svgf;
pub use taa::Taa;
pub use window::{Bilateral, Gaussian, Tent, Tent2, Variance};

use crate::conformance::{Define, Examples};
use crate::{Error, Frame, Kind, Layer, Part, Result, Shape};
use limpid_plan::Plan;
use std::any::Any;
use std::fmt;

pub use limpid_plan::Backend;

/// What [`Method::ordered`] reorders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ordered {
    /// The input of a method.
    Input,
    /// Its result.
    Result,
}

/// A published algorithm with its options.
///
/// Invariants: every schedule of [`Method::schedules`] has a plan for every shape with the layers that the method needs, and
/// all of them produce the image of its definition.
pub trait Method: NamedOptions + Any + fmt::Debug + Send + Sync {
    /// Its name in [`METHODS`].
    fn name(&self) -> &'static str;

    /// The method for frames like this one: with the values of automatic options, such as an estimated noise level, and with
    /// what else it measures. The frame has no missing samples. Methods that measure nothing keep this default.
    fn prepared(&self, _frame: &Frame) -> Result<Box<dyn Method>> {
        Ok(self.boxed())
    }

    /// The same for the first frame of a film, with the frame after it, if [`Method::measures_pairs`].
    fn prepared_for_film(&self, frame: &Frame, _after: &Frame) -> Result<Box<dyn Method>> {
        self.prepared(frame)
    }

    /// Whether the first frame of a film of this shape waits for the next one: two frames tell more.
    fn measures_pairs(&self, _shape: &Shape) -> bool {
        false
    }

    /// Whether motion is to be found in the layers of frames of a sequence that have this shape: the method uses it, and they have none.
    fn wants_motion(&self, _shape: &Shape) -> bool {
        false
    }

    /// Whether [`Method::prepared`] is called for every frame of a sequence, even with history, because its measurements hold
    /// for that frame only. Otherwise only the first frame of a sequence is measured.
    fn measures_every_frame(&self) -> bool {
        false
    }

    /// Whether a frame starts a new film: earlier frames are not used for it, and [`Method::prepared`] measures again. Called
    /// for each frame of a film after the first, in order.
    fn is_scene_cut(&mut self, _frame: &Frame) -> bool {
        false
    }

    /// The number of later frames that the method uses, if it can wait for them: see
    /// [`crate::Sequence::push`].
    fn lookahead(&self) -> usize {
        0
    }

    /// Sets by how many frames results may be delayed, at most [`Method::lookahead`], and whether the film has ended: then no more
    /// frames arrive, and the pending ones are returned. Without this call nothing is delayed.
    fn set_lookahead(&mut self, _ahead: usize, _ended: usize) {}

    /// A short summary of what [`Method::prepared`] found.
    fn summary(&self) -> Option<String> {
        None
    }

    /// How much of the change of luminance and of colour to apply, if the method leaves blending to the denoiser.
    fn blend_amounts(&self) -> [f32; 2] {
        [1.0, 1.0]
    }

    /// The schedules for a back end; the first is the default.
    fn schedules(&self, on: Backend) -> Vec<Schedule>;

    /// An unlisted schedule by name, for example one with parameters.
    fn schedule(&self, _on: Backend, _name: &str) -> Option<Result<Schedule>> {
        None
    }

    /// The passes for frames of this shape.
    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan>;

    /// The same method with values in an order that can be cut into tiles, if its own order cannot: for example, coefficients
    /// at the positions of their samples, where [`Method::ordered`] converts frames between the two. Or the same method without
    /// history, which tiles cannot use.
    fn tileable(&self) -> Option<Box<dyn Method>> {
        None
    }

    /// Converts an input frame to the order of [`Method::tileable`], or a result to the method's own order; `None` if it is in that order
    /// already.
    fn ordered(&self, _frame: &Frame, _what: Ordered) -> Result<Option<Frame>> {
        Ok(None)
    }

    /// A boxed copy.
    fn boxed(&self) -> Box<dyn Method>;
}

/// The layers that are filtered along with the colour, with its weights: light layers and alpha, with their planes.
fn carried(shape: &Shape) -> Vec<(Layer, usize)> {
    let carried = |l: &Layer| {
        l.part == Part::Mean && (l.kind == Kind::Alpha || matches!(l.kind, Kind::Light(_)))
    };
    let layers = shape.layers.iter().filter(|(l, _)| carried(l));
    layers.map(|(l, n)| (l.clone(), *n)).collect()
}

/// A method by its [`Entry::path`].
///
/// ```
/// assert_eq!(limpid::method::entry("filter:gaussian")?.name, "gaussian");
/// assert_eq!(limpid::method::entry("gaussian")?.path(), "filter:gaussian");
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn entry(path: &str) -> Result<&'static Entry> {
    entry_of(METHODS.iter(), path)
}

/// The method with this [`Entry::path`] in a list; or with this name, if only one method has it.
#[doc(hidden)]
pub fn entry_of(all: impl Iterator<Item = &'static Entry>, path: &str) -> Result<&'static Entry> {
    let all: Vec<&Entry> = all.collect();
    let mut named = all.iter().filter(|e| e.name == path);
    let only = named.next().filter(|_| named.next().is_none());
    let found = all.iter().find(|e| e.path() == path).or(only).copied();
    found.ok_or_else(|| {
        let known: Vec<String> = all.iter().map(|e| e.path()).collect();
        Error::unknown("method", path, known.iter().map(String::as_str))
    })
}

/// All methods; of those for the same input, the default first.
pub const METHODS: &[Entry] = &[
    neural::ENTRY,
    ensemble::ENTRY,
    nfor::ENTRY,
    atrous::ENTRY,
    rdfc::ENTRY,
    svgf::ENTRY,
    taa::ENTRY,
    camera::ENTRY,
    eaw::ENTRY,
    ddid::ENTRY,
    nlm::ENTRY,
    shrink::ENTRY,
    film::ENTRY,
    #[cfg(feature = "filters")]
    poisson::ENTRY,
    #[cfg(feature = "filters")]
    patch::ENTRY,
    #[cfg(feature = "filters")]
    window::ENTRIES[0],
    #[cfg(feature = "filters")]
    window::ENTRIES[1],
    #[cfg(feature = "filters")]
    window::ENTRIES[2],
    #[cfg(feature = "filters")]
    window::ENTRIES[3],
    #[cfg(feature = "filters")]
    window::ENTRIES[4],
    #[cfg(feature = "filters")]
    dwt::ENTRIES[0],
    #[cfg(feature = "filters")]
    dwt::ENTRIES[1],
];

/// A method with default options, by purpose and name.
///
/// ```
/// use limpid::method::{find, Use};
/// let mut method = find(Use::Filter, "gaussian")?;
/// method.set("radius", "5")?;
/// assert!(find(Use::Filter, "gausian").unwrap_err().to_string().contains("'gaussian'"));
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn find(used: Use, name: &str) -> Result<Box<dyn Method>> {
    find_in(METHODS.iter(), used, name)
}

/// The method with this purpose and name in a list.
#[doc(hidden)]
pub fn find_in(
    all: impl Iterator<Item = &'static Entry>,
    used: Use,
    name: &str,
) -> Result<Box<dyn Method>> {
    let known: Vec<&Entry> = all.filter(|e| e.used == used).collect();
    let what = match used {
        Use::Denoise => "method",
        Use::Filter => "filter",
        Use::Reconstruct => "reconstruction",
    };
    let found = known.iter().find(|e| e.name == name);
    found
        .map(|e| (e.make)())
        .ok_or_else(|| Error::unknown(what, name, known.iter().map(|e| e.name)))
}
