//! The passes around the levels of the à-trous filter, for methods that are compared with it.

use super::setup::Setup;
use super::{Atrous, AtrousSchedule, define, walk};
use crate::method::{Backend, Schedule};
use crate::{Error, Frame, Image, Kind, LUMINANCE, Layer, Result, Shape};
use limpid_kernel_render::guard::{Guard, Powers};
use limpid_kernel_render::pack::{Pack, PackFeatures, Packing, Unpack};
use limpid_plan::{Backing, Element, Layout, Plan, SlotId};
use limpid_reference::definition::atrous::{dimming, modulate};

/// The validated options of the à-trous filter, with the passes before and after its levels.
#[derive(Debug, Clone)]
pub struct Around {
    method: Atrous,
    setup: Setup,
}

/// Slots filled by the earlier passes.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// Colour, divided by albedo and clamped.
    pub color: SlotId,
    /// The planes of all features.
    pub features: Option<SlotId>,
    albedo: Option<SlotId>,
}

impl Around {
    /// Chooses σ values for the whole frame if the filter has none.
    pub fn find_sigmas(method: &mut Atrous, frame: &Frame) -> Result<()> {
        match method.automatic() {
            true => method.estimate_sigmas(frame),
            false => Ok(()),
        }
    }

    /// Validates the options against the layers.
    pub fn new(method: &Atrous, shape: &Shape) -> Result<Self> {
        Ok(Self {
            method: method.clone(),
            setup: method.setup(shape)?,
        })
    }

    /// Replaces the kernel.
    #[must_use]
    pub fn with_taps(mut self, taps: Vec<f32>) -> Self {
        self.setup.taps = taps;
        self
    }

    /// Ignores colour differences.
    #[must_use]
    pub fn without_color(mut self) -> Self {
        self.setup.color = None;
        self
    }

    /// The schedules of [`Around::plan`].
    pub fn schedules(on: Backend) -> Vec<Schedule> {
        Schedule::list(on, [AtrousSchedule::Dilated])
    }

    /// The whole filter as a plan.
    pub fn plan(&self, name: &str, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let mut plan = walk::plan(&self.method, &self.setup, shape, schedule)?;
        plan.set_title(format!("{name} {schedule}"));
        Ok(plan)
    }

    /// The whole filter by its definition.
    pub fn define(&self, frame: &Frame) -> Result<Frame> {
        define::define(&self.method, &self.setup, frame)
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.setup.levels
    }

    /// Channels of colour.
    pub fn colors(&self) -> usize {
        self.setup.colors
    }

    /// One over σ of colour at a level, if colour is used.
    pub fn color_stop(&self, level: usize) -> Option<f32> {
        self.setup.color_stop(level)
    }

    /// One over σ for each plane of the features, at a level.
    pub fn stops(&self, level: usize) -> Vec<f32> {
        self.setup.stops(level)
    }

    /// Adds the passes before the levels.
    pub fn begin(&self, plan: &mut Plan) -> Begun {
        let setup = &self.setup;
        let albedo = setup.demodulates.then(|| plan.input(Kind::Albedo, 3));
        let input = plan.input(Layer::COLOR, setup.colors);
        let mut color = plan.transient("payload", setup.colors);
        let pack = Pack {
            packed_at: setup.items[0].packed_at,
            first: true,
            half: false,
        };
        let reads: Vec<SlotId> = [Some(input), albedo].into_iter().flatten().collect();
        plan.pass(pack, reads, [color]);
        let features = self.features(plan, albedo);
        if setup.guard {
            let guarded = plan.transient("guarded", setup.colors);
            let guard = Guard {
                colors: setup.colors,
                powers: Powers {
                    planes: vec![1; setup.colors],
                    vectors: Vec::new(),
                },
                half: false,
            };
            plan.pass(guard, [color], [guarded]);
            color = guarded;
        }
        Begun {
            color,
            features,
            albedo,
        }
    }

    fn features(&self, plan: &mut Plan, albedo: Option<SlotId>) -> Option<SlotId> {
        let setup = &self.setup;
        if setup.guides.is_empty() {
            return None;
        }
        let mut reads = Vec::new();
        for g in &setup.guides {
            let input = albedo.filter(|_| g.kind == Kind::Albedo);
            reads.push(input.unwrap_or_else(|| plan.input(g.kind.clone(), g.channels)));
        }
        let features = plan.transient("features", setup.stops(0).len());
        let kernel = PackFeatures {
            layers: setup.feature_planes(),
            packing: Packing::Full,
        };
        plan.pass(kernel, reads, [features]);
        Some(features)
    }

    /// Adds the passes after the levels, which wrote `color`.
    pub fn end(&self, plan: &mut Plan, begun: Begun, color: SlotId) -> Result<()> {
        let slot = plan.slots().get(color.0);
        // The following passes rely on the form of the slot.
        let fits = slot.is_some_and(|s| {
            let form = (s.element, s.backing, s.layout);
            (s.size, s.planes) == (plan.size(), self.setup.colors)
                && form == (Element::F32, Backing::Buffer, Layout::Rows)
        });
        let albedo = begun.albedo.map(|a| plan.slots().get(a.0));
        if !fits || albedo.is_some_and(|a| a.is_none_or(|a| (a.size, a.planes) != (plan.size(), 3)))
        {
            return Err(Error::input("the plan belongs to another method"));
        }
        let output = plan.output(Layer::COLOR, self.setup.colors);
        let packed_at = self.setup.items[0].packed_at;
        let reads: Vec<SlotId> = [Some(color), begun.albedo].into_iter().flatten().collect();
        plan.pass(Unpack::from(plan, color, packed_at, false), reads, [output]);
        Ok(())
    }

    /// The definition of the input to the levels.
    pub fn light(&self, frame: &Frame) -> Result<Image> {
        let color = frame.color()?;
        let albedo = frame.get(Kind::Albedo);
        let light = match albedo.filter(|_| self.setup.demodulates) {
            Some(albedo) => modulate(color, albedo, true),
            None => color.clone(),
        };
        if !self.setup.guard {
            return Ok(light);
        }
        let (width, height) = (light.width(), light.height());
        let bright = Image::from_fn(width, height, 1, |x, y, _| match light.channels() {
            1 => light.get(x, y, 0),
            _ => (0..3).map(|k| LUMINANCE[k] * light.get(x, y, k)).sum(),
        });
        let factor = dimming(&bright);
        Ok(Image::from_fn(
            width,
            height,
            light.channels(),
            |x, y, k| light.get(x, y, k) * factor.get(x, y, 0),
        ))
    }

    /// The definition of the result, from the output of the levels.
    pub fn shaded(&self, frame: &Frame, light: Image) -> Result<Frame> {
        let albedo = frame.get(Kind::Albedo);
        Frame::new(match albedo.filter(|_| self.setup.demodulates) {
            Some(albedo) => modulate(&light, albedo, false),
            None => light,
        })
    }

    /// The features that stop the levels, each with its first plane among [`Around::stops`].
    pub fn guides<'f>(&self, frame: &'f Frame) -> Result<Vec<(&'f Image, usize)>> {
        let planes = self.setup.feature_planes().into_iter();
        let guides = self.setup.guides.iter().zip(planes);
        let found = guides.map(|(g, (first, _))| Ok((frame.require(g.kind.clone())?, first)));
        found.collect()
    }
}
