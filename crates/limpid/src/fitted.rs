//! Fits a method to a device, whole or in tiles, and computes the memory it needs before anything is allocated.

use crate::method::{Method, Schedule};
use crate::{DeviceLimits, Error, Options, Result, Shape, Size};
use limpid_core::memory::in_words;
use limpid_exec::tiled::Tiles;
use limpid_plan::{Plan, Role};

/// A plan that fits the device: for the whole frame, or for one tile.
///
/// ```
/// use limpid::{FittedPlan, Options, DeviceLimits, Shape, Size, method::Gaussian};
/// let shape = Shape::color(Size::new(1920, 1080), 3);
/// let fit = FittedPlan::new(DeviceLimits::Cpu, &shape, &Options::new(Gaussian::default()))?;
/// assert_eq!(fit.tile_count(), 1);
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FittedPlan {
    /// The plan that runs: for the frame, or for one tile.
    pub plan: Plan,
    /// The schedule that was chosen.
    pub schedule: Schedule,
    /// Bytes of the whole frame's inputs and outputs.
    pub frame_bytes: usize,
    pub(crate) tiles: Option<Tiles>,
    /// Whether tiles are those of [`crate::method::Method::tileable`].
    pub(crate) in_place: bool,
}

impl FittedPlan {
    /// Plans the method of the options for frames of this shape.
    pub fn new(limits: DeviceLimits, shape: &Shape, options: &Options) -> Result<Self> {
        let schedule = options.schedule.resolve(options.method.as_ref(), limits)?;
        let planned = |method: &dyn Method, shape: &Shape| {
            let plan = method.plan(shape, &schedule)?;
            Ok::<_, Error>(match limits {
                DeviceLimits::Cpu => plan,
                DeviceLimits::Gpu(target) => plan.with_bindings(target.storage_buffers as usize),
            })
        };
        let whole = planned(options.method.as_ref(), shape)?;
        let frame_bytes = whole.memory().fixed_bytes;
        let small = |size: Size| {
            options
                .tile
                .is_none_or(|t| size.width.max(size.height) <= t)
        };
        // The frame's inputs and outputs count in addition to those of a tile.
        let takes = |plan: &Plan, tiled: bool| match (limits, tiled) {
            (DeviceLimits::Cpu, true) => frame_bytes + own_bytes(plan) + scratch_bytes(plan),
            (DeviceLimits::Cpu, false) => own_bytes(plan) + scratch_bytes(plan),
            (DeviceLimits::Gpu(_), _) => frame_bytes.max(own_bytes(plan) + output_bytes(plan)),
        };
        let most = options.memory.unwrap_or(u64::MAX);
        let fits = |plan: &Plan, tiled| limits.holds(plan) && takes(plan, tiled) as u64 <= most;
        // Values in an order that cannot be cut into tiles may have another order that can.
        let other = match whole.reach() {
            None => options.method.tileable(),
            Some(_) => None,
        };
        let method = other.as_deref().unwrap_or(options.method.as_ref());
        let plan = |size: Size| planned(method, &shape.resized(size));
        let mut in_place = false;
        let (plan, tiles) = if fits(&whole, false) && small(shape.size) {
            (whole, None)
        } else {
            let whole = match &other {
                Some(_) => plan(shape.size)?,
                None => whole,
            };
            let tiles = whole.reach().and_then(|reach| {
                let ok = |size| small(size) && plan(size).is_ok_and(|p| fits(&p, true));
                Tiles::new(shape.size, reach, whole.align(), ok)
            });
            match tiles {
                Some(tiles) => {
                    in_place = other.is_some();
                    (plan(tiles.read)?, Some(tiles))
                }
                None if takes(&whole, false) as u64 > most => {
                    return Err(Error::unsupported(format!(
                        "{} on {} takes {} of memory, and no tile of it fits into the limit of {}; allow more or make the \
                         image smaller",
                        whole.title(),
                        shape.size,
                        in_words(takes(&whole, false) as u64),
                        in_words(most)
                    )));
                }
                // Exceeding the soft limit is better than no result.
                None if limits == DeviceLimits::Cpu && options.tile.is_none() => {
                    (planned(options.method.as_ref(), shape)?, None)
                }
                None => {
                    return Err(Error::unsupported(no_room(limits, &whole)));
                }
            }
        };
        Ok(Self {
            plan,
            schedule,
            frame_bytes,
            tiles,
            in_place,
        })
    }

    /// Number of tiles per frame.
    pub fn tile_count(&self) -> usize {
        self.tiles.as_ref().map_or(1, |t| t.all().len())
    }

    /// Bytes that a run on the CPU needs, including the frame and scratch memory for this many threads.
    pub fn bytes(&self, threads: usize) -> usize {
        let frame = if self.tiles.is_some() {
            self.frame_bytes
        } else {
            0
        };
        frame + own_bytes(&self.plan) + threads * self.plan.most_scratch() * size_of::<f32>()
    }
}

/// Bytes of all slots of a plan.
fn own_bytes(plan: &Plan) -> usize {
    plan.memory().bytes()
}

/// Bytes read back from a GPU.
fn output_bytes(plan: &Plan) -> usize {
    let outputs = plan.slots().iter();
    let outputs = outputs.filter(|s| matches!(s.role, Role::Output(_)));
    outputs.map(|s| s.bytes()).sum()
}

/// Bytes of scratch memory of all threads.
fn scratch_bytes(plan: &Plan) -> usize {
    rayon::current_num_threads() * plan.most_scratch() * size_of::<f32>()
}

/// Why a plan does not fit, and what would fit.
fn no_room(limits: DeviceLimits, whole: &Plan) -> String {
    let (title, size) = (&whole.title(), whole.size());
    if whole.reach().is_some() {
        return format!(
            "{title} on {size} cannot run in tiles that small; larger ones, another schedule or the CPU can"
        );
    }
    let reason = format!("{title} on {size} works on the whole image at once");
    match limits {
        DeviceLimits::Cpu => format!("{reason} and has no tiles"),
        DeviceLimits::Gpu(target) => {
            let largest = whole.slots().iter().max_by_key(|s| s.bytes());
            let (name, bytes) = largest.map_or(("", 0), |s| (s.name.as_str(), s.bytes()));
            format!(
                "{reason}, and its slot '{name}' takes {} MiB where this device binds {} at most; the CPU can run it",
                bytes >> 20,
                target.binding_bytes >> 20
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Ddid;

    /// A limit leads to tiles within it, or to an error that names it.
    #[test]
    fn memory_is_bounded_on_request() -> Result<()> {
        let shape = Shape::color(Size::new(2000, 2000), 3);
        let mut options = Options::new(Ddid::default());
        let whole = FittedPlan::new(DeviceLimits::Cpu, &shape, &options)?;
        let threads = rayon::current_num_threads();
        assert_eq!(whole.tile_count(), 1);
        let limit = whole.bytes(threads) - 1;
        options.memory = Some(limit as u64);
        let tiled = FittedPlan::new(DeviceLimits::Cpu, &shape, &options)?;
        assert!(tiled.tile_count() > 1 && tiled.bytes(threads) <= limit);
        options.memory = Some(10 << 20);
        let error = FittedPlan::new(DeviceLimits::Cpu, &shape, &options).unwrap_err();
        assert!(error.to_string().contains("limit of 10 MiB"), "{error}");
        Ok(())
    }

    #[test]
    fn large_images_run_in_tiles_of_bounded_memory() -> Result<()> {
        let fit = |size| {
            FittedPlan::new(
                DeviceLimits::Cpu,
                &Shape::color(size, 3),
                &Options::new(Ddid::default()),
            )
        };
        assert_eq!(fit(Size::new(2000, 2000))?.tile_count(), 1);
        let large = fit(Size::new(50_000, 40_000))?;
        assert!(large.tile_count() > 1 && DeviceLimits::Cpu.holds(&large.plan));
        Ok(())
    }
}
