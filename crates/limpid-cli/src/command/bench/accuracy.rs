//! `limpid bench filters --accuracy`: the difference between fragments that share sums and those that read everything, on
//! 8-bit textures (Zubatov and Shcherbakov, tables 1–4).

use super::Args;
use super::filters::FILTERS;
use crate::say::tell;
use anyhow::{Context, Result, bail};
use limpid::exec::Runner;
use limpid::exec::gpu::{Gpu, GpuRunner};
use limpid::io;
use limpid::method::window::DEVIATION;
use limpid::method::window::WindowSchedule::{self, Fragment8, Quad8, QuadCoarse8};
use limpid::method::{Backend, Schedule, Use, find};
use limpid::plan::Role;
use limpid::{Device, Frame, Image, Layer, Size, Watch, metric};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// One filter at one radius: shared sums against all reads.
#[derive(Serialize)]
struct Row {
    filter: &'static str,
    radius: usize,
    derivatives: &'static str,
    /// Of values 0 … 255.
    mse: f64,
    ssim: f64,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let Device::Gpu(gpu) = args.how.open()? else {
        bail!("fragment shaders need a GPU: use --device gpu");
    };
    let image = match &args.image {
        Some(path) => read(path)?,
        None => card(args.size.unwrap_or(Size::new(960, 540))),
    };
    let frame = Frame::new(image)?;
    let mut rows = Vec::new();
    for (derivatives, schedule) in [("fine", Quad8), ("coarse", QuadCoarse8)] {
        for filter in FILTERS {
            for radius in 1..=3 {
                let all = pictures(&gpu, &frame, (filter, radius), Fragment8)?;
                let shared = pictures(&gpu, &frame, (filter, radius), schedule)?;
                for ((layer, all), (_, shared)) in all.layers().zip(shared.layers()) {
                    let first = *layer == Layer::COLOR;
                    rows.push(Row {
                        filter: if first { filter } else { DEVIATION },
                        radius,
                        derivatives,
                        mse: 255.0 * 255.0 * metric::mse(shared, all)?,
                        ssim: metric::ssim(shared, all)?,
                    });
                }
            }
        }
    }
    if args.json {
        tell!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    print(&gpu, frame.size(), &rows)
}

fn print(gpu: &Gpu, size: Size, rows: &[Row]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "quad against fragment on {}, 8-bit textures, {size}",
        gpu.name()
    )?;
    for derivatives in ["fine", "coarse"] {
        for (what, exact) in [("MSE", true), ("SSIM", false)] {
            writeln!(out, "\n{what}, {derivatives} derivatives")?;
            write!(out, "{:<5}", "")?;
            for filter in columns() {
                write!(out, " {filter:>10}")?;
            }
            writeln!(out)?;
            for radius in 1..=3 {
                let side = 2 * radius + 1;
                write!(out, "{side}x{side}  ")?;
                for filter in columns() {
                    let of = |r: &&Row| {
                        (r.filter, r.radius, r.derivatives) == (filter, radius, derivatives)
                    };
                    let Some(row) = rows.iter().find(of) else {
                        continue;
                    };
                    match (exact, row.mse) {
                        (false, _) => write!(out, " {:>10.4}", row.ssim)?,
                        (_, 0.0) => write!(out, " {:>10}", 0)?,
                        (_, m) if m < 0.01 => write!(out, " {m:>10.2e}")?,
                        (_, m) => write!(out, " {m:>10.3}")?,
                    }
                }
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// The filters; `variance` is the mean over the window, and its second result has a separate column.
fn columns() -> impl Iterator<Item = &'static str> {
    FILTERS.into_iter().chain([DEVIATION])
}

/// The results of the filter by a schedule that is not listed.
fn pictures(
    gpu: &Gpu,
    frame: &Frame,
    (filter, radius): (&str, usize),
    schedule: WindowSchedule,
) -> Result<Frame> {
    let mut method = find(Use::Filter, filter)?;
    method.set("radius", &radius.to_string())?;
    let plan = method.plan(&frame.shape(), &Schedule::new(Backend::Gpu, schedule))?;
    let mut out = Frame::empty(frame.size())?;
    for slot in plan.slots() {
        if let Role::Output(layer) = &slot.role {
            let image = Image::new(slot.size.width, slot.size.height, slot.planes);
            out.insert(layer.clone(), image)?;
        }
    }
    GpuRunner::new(gpu, plan)?.run(frame, &mut out, &Watch::default())?;
    Ok(out)
}

fn read(path: &Path) -> Result<Image> {
    let file = io::read(path, &crate::run::read_options())
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(file.frame.color()?.map(|v| v.clamp(0.0, 1.0)))
}

/// A test card: discs with sharp edges on a gradient, fine stripes, and noise.
fn card(size: Size) -> Image {
    let mut state = 1u32;
    Image::from_fn(size.width, size.height, 3, |x, y, c| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
        let (u, v) = (x as f32 / size.width as f32, y as f32 / size.height as f32);
        let near = |a: usize| (a % 97) as f32 - 48.0;
        let disc = near(x) * near(x) + near(y + 13 * c) * near(y + 13 * c) < 900.0;
        let stripes = if v > 0.75 { (x / 2 % 2) as f32 } else { 0.0 };
        let value = 0.6 * u + 0.2 * v + if disc { 0.35 } else { 0.0 } + 0.3 * stripes;
        (0.8 * value + 0.1 * noise).clamp(0.0, 1.0)
    })
}
