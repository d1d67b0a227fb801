//! The properties of a film: size, frames, samples.

use crate::say::tell;
use crate::video;
use anyhow::Result;
use limpid::io::y4m::Chroma;
use serde_json::json;
use std::path::Path;

pub(crate) fn run(path: &Path, as_json: bool) -> Result<()> {
    let (header, frames) = video::look(path)?;
    let chroma = match header.chroma {
        Chroma::Mono => "grey",
        Chroma::Sampled(1, 1) => "4:4:4",
        Chroma::Sampled(2, 1) => "4:2:2",
        Chroma::Sampled(..) => "4:2:0",
    };
    if as_json {
        let facts = json!({
            "file": path.display().to_string(),
            "format": "film",
            "width": header.size.width,
            "height": header.size.height,
            "frames": frames,
            "chroma": chroma,
            "bits": header.bits,
        });
        tell!("{facts:#}");
    } else {
        tell!("{}: film", path.display());
        tell!("  size         {}", header.size);
        tell!("  frames       {frames}");
        tell!("  samples      {chroma}, {} bit", header.bits);
    }
    Ok(())
}
