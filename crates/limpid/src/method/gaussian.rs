//! The Gaussian filter: the pattern that every method follows.
//!
//! The definition is [`crate::definition::gaussian`]. Schedules: `two-pass` filters rows, then columns; `fused` (CPU) does
//! so on a few rows at a time, in one pass over memory; `direct` walks the square window; `tile` (GPU) walks it in
//! workgroup memory.

use super::{Backend, Entry, Method, Schedule, Use};
use crate::kernel::gaussian::{Gaussian as Both, GaussianAxis, Walk};
use crate::plan::Plan;
use crate::{Error, Frame, Layer, Result, Shape, definition};

/// The Gaussian filter in the list of methods.
pub const ENTRY: Entry = Entry {
    name: "gaussian",
    used: Use::Filter,
    about: "Gaussian blur with a square window",
    make: || Box::new(Gaussian::default()),
};

crate::options! {
    /// The Gaussian filter with its options.
    pub struct Gaussian {
        /// Taps to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 3,
        /// Standard deviation in pixels; half the radius when not given.
        pub sigma: Option<f32> = None,
    }
}

const TWO_PASS: Schedule = Schedule::new("two-pass");
const FUSED: Schedule = Schedule::new("fused");
const DIRECT: Schedule = Schedule::new("direct");
const TILE: Schedule = Schedule::new("tile");

impl Gaussian {
    fn checked(&self) -> Result<(usize, f32)> {
        let sigma = self.sigma.unwrap_or((self.radius as f32 / 2.0).max(0.5));
        if self.radius > 1024 {
            return Err(Error::input(format!(
                "--radius {}: expected at most 1024",
                self.radius
            )));
        }
        if sigma <= 0.0 {
            return Err(Error::input(format!(
                "--sigma {sigma}: expected a number above 0"
            )));
        }
        Ok((self.radius, sigma))
    }
}

impl Method for Gaussian {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => vec![FUSED, TWO_PASS, DIRECT],
            Backend::Gpu => vec![TWO_PASS, DIRECT, TILE],
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let (radius, sigma) = self.checked()?;
        let mut plan = Plan::new(format!("gaussian {schedule}"), shape.size);
        let channels = shape
            .channels(&Layer::COLOR)
            .ok_or_else(|| Error::input("layer color is missing"))?;
        let input = plan.input(Layer::COLOR, channels);
        let output = plan.output(Layer::COLOR, channels);
        match schedule.as_str() {
            "fused" => plan.pass(
                Both {
                    radius,
                    sigma,
                    walk: Walk::Separable,
                },
                [input],
                [output],
            ),
            "direct" => plan.pass(
                Both {
                    radius,
                    sigma,
                    walk: Walk::Direct,
                },
                [input],
                [output],
            ),
            "tile" => plan.pass(
                Both {
                    radius,
                    sigma,
                    walk: Walk::Tile,
                },
                [input],
                [output],
            ),
            _ => {
                let rows = plan.transient("rows", channels);
                plan.pass(
                    GaussianAxis {
                        radius,
                        sigma,
                        vertical: false,
                    },
                    [input],
                    [rows],
                );
                plan.pass(
                    GaussianAxis {
                        radius,
                        sigma,
                        vertical: true,
                    },
                    [rows],
                    [output],
                );
            }
        }
        Ok(plan)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        let (radius, sigma) = self.checked()?;
        Frame::new(definition::gaussian::gaussian(
            frame.color()?,
            radius,
            sigma,
        ))
    }

    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |radius, sigma| Box::new(Self { radius, sigma }) as Box<dyn Method>;
        vec![
            with(0, None),
            with(1, Some(0.3)),
            with(3, None),
            with(9, Some(4.0)),
        ]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
