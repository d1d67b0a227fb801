//! Saving a render and resuming it.
//!
//! The file contains a text description of the render and the state of every pixel. It is written completely or not at all.

use crate::gather::{Cell, Gather};
use crate::render::{Render, RenderOptions};
use limpid::{Error, Result};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"limpid render 1\n";

impl Render<'_> {
    /// Writes the state to a file. `scene` names what is rendered; [`Self::resume`] takes the state back only for the same
    /// name and options. The number of samples may differ.
    pub fn save(&self, path: &Path, scene: &str) -> Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let part = Path::new(&name);
        let fault = |e| Error::io(path, e);
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(std::fs::File::create(part)?);
            let label = label(scene, self.options());
            file.write_all(MAGIC)?;
            file.write_all(&(label.len() as u32).to_le_bytes())?;
            file.write_all(label.as_bytes())?;
            for row in &self.gather.rows {
                file.write_all(&row.to_le_bytes())?;
            }
            for cell in &self.gather.pixels {
                for v in [cell.a, cell.b, cell.spread] {
                    file.write_all(&v.to_le_bytes())?;
                }
            }
            file.into_inner()?.sync_all()?;
            std::fs::rename(part, path)
        };
        write().map_err(|e| {
            std::fs::remove_file(part).ok();
            fault(e)
        })
    }

    /// Loads a state that [`Self::save`] wrote. Returns whether there was one: a missing file, another scene or other
    /// options, more samples than are asked for, or a broken file leave the render as it is.
    pub fn resume(&mut self, path: &Path, scene: &str) -> Result<bool> {
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(Error::io(path, e)),
        };
        let label = label(scene, self.options());
        let mut gather = Gather::new(self.gather.size, self.gather.channels);
        let read = read(BufReader::new(file), &label, &mut gather);
        let most = gather.rows.iter().max().copied().unwrap_or(0);
        let fits = matches!(read, Ok(true)) && most <= self.options().samples;
        if fits {
            self.gather = gather;
        }
        Ok(fits)
    }
}

/// Everything that the value of a sample depends on.
fn label(scene: &str, o: &RenderOptions) -> String {
    format!(
        "{scene} {} seed {} frame {} bounces {} every {} gradients {} glossy {}",
        o.size, o.seed, o.frame, o.bounces, o.every, o.gradients, o.glossy_below
    )
}

fn read(mut file: impl Read, label: &str, gather: &mut Gather) -> std::io::Result<bool> {
    let mut head = [0; 16];
    file.read_exact(&mut head)?;
    let length = u32::from_le_bytes(word(&mut file)?) as usize;
    if &head != MAGIC || length != label.len() {
        return Ok(false);
    }
    let mut text = vec![0; length];
    file.read_exact(&mut text)?;
    if text != label.as_bytes() {
        return Ok(false);
    }
    for row in &mut gather.rows {
        *row = u32::from_le_bytes(word(&mut file)?);
    }
    for cell in &mut gather.pixels {
        *cell = Cell {
            a: f32::from_le_bytes(word(&mut file)?),
            b: f32::from_le_bytes(word(&mut file)?),
            spread: f32::from_le_bytes(word(&mut file)?),
        };
    }
    Ok(file.read(&mut [0])? == 0)
}

fn word(file: &mut impl Read) -> std::io::Result<[u8; 4]> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
