//! `limpid render --adaptive`: more samples where the estimated error of the denoised image is large.

use limpid::method::{Method, NamedOptions, Nfor};
use limpid::{Device, Error, Frame, Image, Kind, Options, Result, Sequence, Watch, io};
use limpid_scenes::{Adaptive, Render};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct Spending {
    /// Spend --spp samples per pixel on average, in rounds, where the estimated error of the denoised image (nfor) is largest
    #[arg(long, conflicts_with_all = ["gradients", "every", "keep_state"])]
    adaptive: bool,
    /// Number of rounds; the first one samples all pixels equally
    #[arg(long, value_name = "N", default_value_t = 4, requires = "adaptive", value_parser = clap::value_parser!(u32).range(2..=64))]
    rounds: u32,
    /// Also write the number of samples of each pixel
    #[arg(long, value_name = "FILE", requires = "adaptive")]
    sample_map: Option<PathBuf>,
    /// Device that denoises between rounds: auto, cpu, gpu, gpu:NAME
    #[arg(
        long,
        default_value = "auto",
        value_name = "DEVICE",
        requires = "adaptive"
    )]
    device: String,
}

impl Spending {
    pub(super) fn is_on(&self) -> bool {
        self.adaptive
    }

    /// Renders with the given number of samples.
    pub(super) fn run(&self, render: &mut Render<'_>, path: &Path, watch: &Watch) -> Result<()> {
        if self.sample_map.as_deref() == Some(path) {
            let expected = "a different file than the output";
            return Err(Error::option("sample-map", path.display(), expected));
        }
        let device = Device::open(&self.device)?;
        let mut method = Nfor::default();
        method.set("quality", "good")?;
        method.set("layers", "all")?;
        let options = Options::of(method.boxed());
        let adaptive = Adaptive {
            rounds: self.rounds,
        };
        adaptive.run(render, watch, |frame| error(frame, &device, &options))?;
        if let Some(map) = &self.sample_map {
            let counts = Frame::new(render.sample_counts())?;
            io::write(map, &counts, None, &io::WriteOptions::default())?;
        }
        Ok(())
    }
}

/// The estimated error of the denoised frame.
fn error(frame: &Frame, device: &Device, options: &Options) -> Result<Image> {
    let result = Sequence::new(device, options).run(frame, &Watch::default())?;
    Ok(result.require(Kind::Light("error".into()))?.clone())
}
