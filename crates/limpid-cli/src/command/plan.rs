//! `limpid plan`: what would run.

use crate::method_options::Given;
use crate::run::RunArgs;
use crate::say::{OrUsage, tell};
use anyhow::Result;
use limpid::kernel::{Stage, Target};
use limpid::method::{Entry, Use};
use limpid::plan::Plan;
use limpid::{DeviceLimits, FittedPlan, Layer, Shape, Size};
use limpid_lab::entry;

/// Show what would run: passes, layouts, memory, kernels
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Method, such as atrous or filter:gaussian
    method: String,
    /// Size of the frame
    #[arg(long, default_value = "1920x1080", value_name = "WxH")]
    size: Size,
    /// Layers of the frame, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LAYERS")]
    layers: Vec<Layer>,
    /// Also print what each pass runs: on a GPU its WGSL, generated for the limits of that device
    #[arg(long)]
    kernels: bool,
    #[command(flatten)]
    how: RunArgs,
}

/// The layers of a frame if none are named.
pub(crate) fn shape(size: Size, layers: &[Layer], entry: &Entry) -> Shape {
    let mut shape = Shape::color(size, 3);
    // What renderers usually write.
    let default: &[&str] = match entry.used {
        Use::Denoise if entry.over_time => &["albedo", "normal", "depth", "motion"],
        Use::Denoise => &["albedo", "normal", "depth"],
        Use::Filter => &[],
        Use::Reconstruct => &[
            "dx",
            "dy",
            "color.a",
            "color.b",
            "dx.a",
            "dx.b",
            "dy.a",
            "dy.b",
            "albedo",
            "normal",
            "position",
            "visibility",
        ],
    };
    let default: Vec<Layer> = default.iter().filter_map(|l| l.parse().ok()).collect();
    let layers = if layers.is_empty() { &default } else { layers };
    for layer in layers {
        let channels = layer.kind.channels().iter().max().copied().unwrap_or(1);
        shape = shape.with(layer.clone(), channels);
    }
    shape
}

pub(crate) fn run(args: &Args, given: &Given) -> Result<()> {
    let entry = entry(&args.method).or_usage()?;
    let options = args.how.options((entry.make)(), given)?;
    let limits = limits(&args.how)?;
    let fit =
        FittedPlan::new(limits, &shape(args.size, &args.layers, entry), &options).or_usage()?;
    let plan = &fit.plan;
    plan.check()?;
    tell!("{plan}");
    if fit.tile_count() > 1 {
        tell!(
            "in {} tiles for {}, whose inputs and outputs take {:.1} MiB more",
            fit.tile_count(),
            args.size,
            fit.frame_bytes as f64 / f64::from(1 << 20)
        );
    }
    if args.kernels {
        print_kernels(plan, limits)?;
    }
    Ok(())
}

/// The limits of the device. A missing GPU is replaced by one with the limits that every device has.
pub(crate) fn limits(how: &RunArgs) -> Result<DeviceLimits> {
    if how.device.starts_with("gpu") {
        let opened = how.open().map(|device| device.limits());
        return Ok(opened.unwrap_or(DeviceLimits::Gpu(Target::BASE)));
    }
    Ok(how.open()?.limits())
}

/// What each pass runs on a device: the WGSL generated for its limits; on the CPU the compiled body.
pub(crate) fn print_kernels(plan: &Plan, limits: DeviceLimits) -> Result<()> {
    for (i, pass) in plan.passes().iter().enumerate() {
        let number = i + 1;
        let DeviceLimits::Gpu(target) = limits else {
            tell!("// {number}. {}: compiled, on the CPU", pass.name());
            continue;
        };
        tell!("\n// {number}. {}", pass.name());
        match pass.shader(plan, target) {
            Ok(dispatch) => {
                match dispatch.stage() {
                    Stage::Compute { groups: [x, y, z] } => {
                        tell!("// {x} x {y} x {z} workgroups");
                    }
                    Stage::Fragment => tell!("// drawn over the whole target"),
                }
                tell!("{}", dispatch.source());
            }
            Err(error) => tell!("// {error}"),
        }
    }
    Ok(())
}
