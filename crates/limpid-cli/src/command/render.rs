//! `limpid render`: test inputs from built-in scenes and OBJ files.

mod adaptive;

use crate::batch;
use crate::render_tags::{RenderTags, point};
use crate::say::{self, OrUsage, tell};
use crate::shot;
use anyhow::{Result, bail};
use limpid::{Error, Frame, Image, Kind, Layer, Part, Size, Watch, io, srgb_to_linear};
use limpid_scenes::glam::Vec3A;
use limpid_scenes::{BUILTIN, Camera, Render, RenderOptions, Scene, builtin_world, read_obj};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the state of a long render is saved.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// Render a scene as noisy input
///
/// Colour, two independent halves, sample variances, features, motion vectors and, if asked for, gradients: all layers of
/// one EXR file. A render that was stopped with Ctrl-C continues when the same command is run again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A built-in scene or an OBJ file
    #[arg(required_unless_present = "list")]
    scene: Option<String>,
    /// The EXR file to write; `####` stands for the frame number
    #[arg(short, long, value_name = "OUT.exr", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// Samples per pixel
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    spp: u32,
    /// Width and height
    #[arg(long, value_name = "WxH", default_value = "512x512")]
    size: Size,
    /// First and last frame, such as 0..9, or one
    #[arg(long, value_name = "A..B", default_value = "0", value_parser = shot::range)]
    frames: RangeInclusive<u32>,
    /// Seed of the noise
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Also render the differences between neighbouring pixels, dx and dy
    #[arg(long)]
    gradients: bool,
    /// Sample colour at only one pixel of every N x N block; the others are marked missing (NaN)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64), conflicts_with = "gradients")]
    every: u16,
    /// Maximum number of surfaces that a path visits
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    bounces: u16,
    /// Which layers to write
    #[arg(long, value_enum, default_value_t = Layers::All)]
    layers: Layers,
    /// Move the camera here
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true)]
    camera: Option<Vec3A>,
    /// Turn the camera to this point
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true)]
    target: Option<Vec3A>,
    /// Vertical field of view, degrees
    #[arg(long, value_name = "DEGREES")]
    field_of_view: Option<f32>,
    /// Keep the state beside the output, so that a later run with a larger --spp can continue from it
    #[arg(long)]
    keep_state: bool,
    #[command(flatten)]
    adaptive: adaptive::Spending,
    /// List the built-in scenes
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Layers {
    /// Means, halves and variances of colour and features.
    All,
    /// Means only.
    Means,
    /// Colour only: references.
    Color,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for (name, about) in BUILTIN {
            tell!("{name:10} {about}");
        }
        return Ok(());
    }
    let (Some(name), Some(output)) = (&args.scene, &args.output) else {
        bail!("name a scene and an output file");
    };
    check_output(output, &args.frames).or_usage()?;
    check_scene(name)?;
    match shot::is_pattern(output) {
        true => batch::create(batch::folder_of(output))?,
        false => batch::can_write(output)?,
    }
    let first = *args.frames.start();
    let count = (args.frames.end() - first + 1) as f32;
    let watch = say::watch("rendering");
    for frame in args.frames.clone() {
        let path = shot::numbered(output, frame);
        let begin = Instant::now();
        let done = (frame - first) as f32;
        let part = watch.for_part(done / count, (done + 1.0) / count);
        let (rendered, taken) = match one(name, frame, args, &path, &part) {
            Err(Error::Stopped) if args.adaptive.is_on() => bail!("stopped"),
            Err(Error::Stopped) => {
                bail!(
                    "stopped; run the same command again to continue from {}",
                    path.display()
                )
            }
            other => other?,
        };
        let mut options = io::WriteOptions::default();
        options.texts = taken.texts();
        io::write(&path, &pick(rendered, args.layers)?, None, &options)?;
        if !say::is_quiet() {
            say::line(&format!(
                "{name}: {} samples per pixel, {}, {:.2} s, written to {}",
                args.spp,
                args.size,
                begin.elapsed().as_secs_f64(),
                path.display()
            ));
        }
        if !args.keep_state {
            std::fs::remove_file(state_path(&path)).ok();
        }
    }
    Ok(())
}

/// Renders one frame, continuing an earlier run.
fn one(
    name: &str,
    frame: u32,
    args: &Args,
    path: &Path,
    watch: &Watch,
) -> limpid::Result<(Frame, RenderTags)> {
    let (scene, camera) = load(name, frame, args)?;
    let options = RenderOptions {
        size: args.size,
        samples: args.spp,
        seed: args.seed,
        frame: u64::from(frame),
        bounces: usize::from(args.bounces),
        every: usize::from(args.every),
        gradients: args.gradients,
        ..RenderOptions::default()
    };
    let label = format!(
        "{name} {} {:?} {:?} {:?}",
        scene.triangles(),
        args.camera,
        args.target,
        args.field_of_view
    );
    let state = state_path(path);
    let mut render = Render::new(&scene, &options)?;
    let mut taken = RenderTags::new(name, frame, options.bounces, &camera);
    if args.adaptive.is_on() {
        args.adaptive.run(&mut render, path, watch)?;
        return Ok((render.frame()?, taken));
    }
    render.resume(&state, &label)?;
    let mut saved = Instant::now();
    loop {
        match render.step(watch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                render.save(&state, &label)?;
                return Err(error);
            }
        }
        if saved.elapsed() > SAVE_EVERY && render.samples() < options.samples {
            render.save(&state, &label)?;
            saved = Instant::now();
        }
    }
    if args.keep_state {
        render.save(&state, &label)?;
    }
    taken.samples = (args.every == 1).then_some(options.samples);
    Ok((render.frame()?, taken))
}

fn is_file(scene: &str) -> bool {
    let extension = Path::new(scene).extension();
    extension.is_some_and(|e| e.eq_ignore_ascii_case("obj"))
}

/// Refuses a scene that does not exist before anything is written.
fn check_scene(name: &str) -> Result<()> {
    match is_file(name) {
        true => match std::fs::File::open(name) {
            Ok(_) => Ok(()),
            Err(cause) => Err(Error::io(name, cause).into()),
        },
        false => builtin_world(name, 0.0).map(drop).or_usage(),
    }
}

/// The scene at a frame, with the camera of the options.
fn load(name: &str, frame: u32, args: &Args) -> limpid::Result<(Scene, Camera)> {
    let mut worlds = if is_file(name) {
        vec![read_obj(Path::new(name), texture)?]
    } else {
        let frame = frame as f32;
        vec![
            builtin_world(name, frame)?,
            builtin_world(name, frame - 1.0)?,
        ]
    };
    for world in &mut worlds {
        let camera = &mut world.camera;
        camera.position = args.camera.unwrap_or(camera.position);
        camera.target = args.target.unwrap_or(camera.target);
        camera.field_of_view = args.field_of_view.unwrap_or(camera.field_of_view);
    }
    let scene = Scene::new(&worlds[0], worlds.get(1))?;
    Ok((scene, worlds[0].camera))
}

/// A texture file in linear light.
fn texture(path: &Path) -> limpid::Result<Image> {
    let picture = io::read(path, &crate::run::read_options())?;
    let image = picture.frame.color()?;
    let linear = match picture.origin.transfer() {
        io::Transfer::Linear => image.clone(),
        _ => image.map(srgb_to_linear),
    };
    let (w, h) = (linear.width(), linear.height());
    let channels = linear.channels();
    Ok(Image::from_fn(w, h, 3, |x, y, c| {
        linear.get(x, y, c.min(channels - 1))
    }))
}

/// The requested layers.
fn pick(frame: Frame, layers: Layers) -> Result<Frame> {
    let wanted = |layer: &Layer| match layers {
        Layers::All => true,
        Layers::Means => layer.part == Part::Mean,
        Layers::Color => layer.part == Part::Mean && layer.kind == Kind::Color,
    };
    let mut out = Frame::empty(frame.size())?;
    out.set_sample_spacing(frame.sample_spacing());
    for (layer, image) in frame.layers().filter(|(l, _)| wanted(l)) {
        out.insert(layer.clone(), image.clone())?;
    }
    Ok(out)
}

fn state_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".state");
    name.into()
}

fn check_output(output: &Path, frames: &RangeInclusive<u32>) -> limpid::Result<()> {
    let name = output.display();
    let exr = output
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("exr"));
    if !exr {
        return Err(Error::input(format!(
            "{name}: layers need an EXR file; name the output OUT.exr"
        )));
    }
    if frames.start() != frames.end() && !shot::is_pattern(output) {
        return Err(Error::input(format!(
            "{name}: several frames need a placeholder for their number, such as OUT.####.exr"
        )));
    }
    Ok(())
}
