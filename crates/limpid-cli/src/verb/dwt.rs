//! `limpid dwt` and `limpid idwt`: the wavelet transform of images.

use crate::files;
use crate::knobs::Given;
use crate::run::How;
use crate::say::OrUsage;
use anyhow::{Context, Result};
use limpid::definition::dwt::{Dwt as Definition, Layout};
use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::kernel::dwt::Level;
use limpid::method::{Dwt, Idwt, Method, Scale};
use limpid::wavelet::{Border, Direction, Form, Normalisation, Scheme, SchemeName, Wavelet};
use limpid::{Frame, Layer, Options, Sequence, Size};
use std::path::{Path, PathBuf};

/// Transform images to wavelet coefficients
///
/// Coefficients are floats: write EXR, TIFF or PFM. With boundary mirror or periodization (at even sizes) they fill an
/// image of the same size.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Image to transform
    #[arg(required_unless_present = "explain", value_name = "IN")]
    input: Option<PathBuf>,
    /// File to write
    #[arg(short, long, required_unless_present = "explain", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Name of a wavelet (haar, cdf53, cdf97, dd137, b3, db1 …), or a file with lifting steps or filters
    #[arg(long, default_value = "cdf97", value_name = "NAME")]
    wavelet: String,
    /// How often the low band is transformed
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    levels: usize,
    /// Scheme of the calculation on the GPU: lifting*, explosion*, separable-lifting+, … [default: the schedule's]
    #[arg(long, value_name = "SCHEME", conflicts_with = "schedule")]
    scheme: Option<SchemeName>,
    /// Beyond the image: mirror, symmetric, reflect, periodic, periodization, zero, constant, smooth, antisymmetric, antireflect
    #[arg(long, default_value = "mirror", value_name = "NAME")]
    boundary: Border,
    /// Order of coefficients: subbands or interleaved
    #[arg(long, default_value = "subbands", value_name = "NAME")]
    layout: Layout,
    /// Size of coefficients: orthonormal (energy is kept) or unit (JPEG 2000)
    #[arg(long, default_value = "orthonormal", value_name = "NAME", value_parser = ["orthonormal", "unit"])]
    scale: String,
    /// For idwt: size of the image, where coefficients do not tell it
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Print the scheme's steps, its costs and its kernel instead
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    how: How,
}

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

pub(crate) fn run(args: &Args, way: Way) -> Result<()> {
    let wavelet = find(&args.wavelet)?;
    if args.explain {
        return explain(args, &wavelet, way);
    }
    let (Some(input), Some(output)) = (&args.input, &args.output) else {
        return Ok(());
    };
    let named = Wavelet::names().any(|n| n == args.wavelet);
    let plain =
        args.boundary == Border::Mirror && args.layout == Layout::Subbands && args.levels > 0;
    if named && plain && wavelet.lifting().is_some() {
        let mut how = args.how.clone();
        how.schedule = how.schedule.or(args.scheme.map(|s| s.to_string()));
        let options: Options = how.options(method(args, way), &Given::default())?;
        let device = how.open()?;
        how.check(&options, &device)?;
        return files::run(input, output, &[], &mut Sequence::new(&device, &options));
    }
    by_definition(args, wavelet, way, input, output)
}

/// A wavelet by name, or from a file.
fn find(name: &str) -> Result<Wavelet> {
    let path = Path::new(name);
    if path.is_file() {
        let text = std::fs::read_to_string(path).with_context(|| name.to_owned())?;
        return Ok(Wavelet::parse(name, &text)?);
    }
    Wavelet::named(name).or_usage()
}

fn method(args: &Args, way: Way) -> Box<dyn Method> {
    let (wavelet, levels) = (args.wavelet.clone(), args.levels);
    let scale = match args.scale.as_str() {
        "unit" => Scale::Unit,
        _ => Scale::Orthonormal,
    };
    match way {
        Way::There => Box::new(Dwt {
            wavelet,
            levels,
            scale,
        }),
        Way::Back => Box::new(Idwt {
            wavelet,
            levels,
            scale,
        }),
    }
}

/// Borders, layouts and wavelets that have no kernel go through the definition.
fn by_definition(
    args: &Args,
    wavelet: Wavelet,
    way: Way,
    input: &Path,
    output: &Path,
) -> Result<()> {
    io::Format::from_path(output).or_usage()?;
    let picture = io::read(input, &ReadOptions::default())?;
    let image = picture.frame.require(Layer::COLOR)?;
    let dwt = Definition {
        wavelet,
        border: args.boundary,
        normalisation: normalisation(args),
        levels: args.levels,
    };
    let result = match way {
        Way::There => dwt.pack(&dwt.forward(image)?, args.layout)?,
        Way::Back => {
            let size = args.size.unwrap_or(image.size());
            dwt.inverse(&dwt.unpack(image, size, args.layout)?)?
        }
    };
    let origin = (result.size() == image.size()).then_some(&picture.origin);
    for note in io::write(
        output,
        &Frame::new(result)?,
        origin,
        &WriteOptions::default(),
    )? {
        log::warn!("{}: {note}", output.display());
    }
    Ok(())
}

fn normalisation(args: &Args) -> Normalisation {
    match args.scale.as_str() {
        "unit" => Normalisation::Unit,
        _ => Normalisation::Orthonormal,
    }
}

/// Steps, costs and kernel text of a scheme.
fn explain(args: &Args, wavelet: &Wavelet, way: Way) -> Result<()> {
    let lifting = wavelet.lifting().with_context(|| {
        format!(
            "wavelet '{}' has no well-conditioned lifting steps; it is convolved",
            wavelet.name()
        )
    })?;
    let name = args
        .scheme
        .unwrap_or(SchemeName::new(limpid::wavelet::Kind::Lifting, Form::Star));
    let direction = match way {
        Way::There => Direction::Forward,
        Way::Back => Direction::Inverse,
    };
    let scheme = Scheme::new(lifting, name, direction);
    println!(
        "{} by {name}, per quad of samples; x^-1 is one quad to the right, y^-1 one below\n",
        wavelet.name()
    );
    for (i, stage) in scheme.stages.iter().enumerate() {
        if i > 0 {
            println!("-- barrier --");
        }
        for matrix in stage {
            println!("{matrix}");
        }
    }
    let (l, h) = (lifting.low_scale, lifting.high_scale);
    println!(
        "scale: LL {:.6}, HL and LH {:.6}, HH {:.6}\n",
        l * l,
        l * h,
        h * h
    );
    let compute = scheme.compute_cost();
    println!(
        "compute:  {} operations, {} barriers, {} reads, {} writes, {} cells (single buffer), {} (double)",
        compute.operations,
        compute.barriers,
        compute.reads,
        compute.writes,
        compute.single,
        compute.double
    );
    let passes = scheme.pass_cost();
    println!(
        "graphics: {} operations, {} passes, {} reads, {} writes, {} cells\n",
        passes.operations, passes.steps, passes.reads, passes.writes, passes.memory
    );
    print!(
        "{}",
        Level::new(lifting, normalisation(args), direction, name).wgsl()?
    );
    Ok(())
}
