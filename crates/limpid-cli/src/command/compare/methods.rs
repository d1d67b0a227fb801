//! Several methods on the same file.

use super::Args;
use super::loaded::{Loaded, file};
use super::sequence::is_sequence;
use crate::files::is_light;
use crate::say::{self, OrUsage};
use crate::{method_options, run};
use anyhow::{Context, Result};
use limpid::io::Picture;
use limpid::method::{Auto, Method, Use};
use limpid::{Device, Error, Kind, Options, Sequence};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The device of the methods, and the file that was read last.
pub(super) struct Methods {
    device: Device,
    last: Option<(PathBuf, Picture)>,
}

impl Methods {
    /// Checks the names before anything is read; none if there are none.
    pub(super) fn new(args: &Args, images: &[PathBuf]) -> Result<Option<Self>> {
        if args.methods.is_empty() {
            return Ok(None);
        }
        for name in &args.methods {
            method(name, images.first().map_or(Path::new(""), PathBuf::as_path))?;
        }
        if let Some(sequence) = images.iter().find(|path| is_sequence(path)) {
            let message = format!(
                "{}: --methods is for single images; denoise the sequence by each method first, and compare the results",
                sequence.display()
            );
            return Err(Error::input(message)).or_usage();
        }
        Ok(Some(Self {
            device: run::open(&args.device)?,
            last: None,
        }))
    }

    /// What a method makes of a file, and the seconds that it takes, without reading.
    pub(super) fn run(&mut self, path: &Path, name: &str, args: &Args) -> Result<(Loaded, f64)> {
        let last = self.last.take().filter(|(read, _)| read == path);
        let picture = match last {
            Some((_, picture)) => picture,
            None => file(path, args)?,
        };
        let (_, picture) = self.last.insert((path.to_owned(), picture));
        let begin = Instant::now();
        let mut sequence = Sequence::new(&self.device, &Options::of(method(name, path)?));
        let watch = say::watch(name);
        let mut made = sequence.run(&picture.frame, &watch)?;
        watch.check()?;
        let seconds = begin.elapsed().as_secs_f64();
        // Methods that leave coverage alone do not give it back.
        if let (None, Some(alpha)) = (made.get(Kind::Alpha), picture.frame.get(Kind::Alpha)) {
            made.insert(Kind::Alpha, alpha.clone())?;
        }
        let loaded = Loaded::of(made, &picture.origin, path, args);
        Ok((loaded.with_context(|| name.to_owned())?, seconds))
    }
}

/// A method with its usual options; `auto` as `limpid denoise` would choose for this file.
fn method(name: &str, path: &Path) -> Result<Box<dyn Method>> {
    Ok(match name {
        "auto" if is_light(path) => Box::new(Auto::default().scene_linear()),
        "auto" => Box::new(Auto::default()),
        name => method_options::method(Use::Denoise, name)?,
    })
}
