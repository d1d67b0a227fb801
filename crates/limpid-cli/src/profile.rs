//! Noise profiles as files: JSON, or an image that shows the noise.

use anyhow::{Context, Result};
use limpid::io;
use limpid::noise::Profile;
use std::path::Path;

/// The value of `--noise` in the form of the library: names are kept, files are replaced by their profile.
pub(crate) fn given(value: &str) -> Result<String> {
    let known = value == "auto" || value == "gaussian" || value.starts_with("poisson:");
    if known || value.starts_with('{') {
        return Ok(value.to_owned());
    }
    Ok(load(Path::new(value))?.to_json())
}

/// The profile of a file.
pub(crate) fn load(path: &Path) -> Result<Profile> {
    let named = || path.display().to_string();
    if path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"))
    {
        let text = std::fs::read_to_string(path).with_context(named)?;
        return Profile::from_json(&text).with_context(named);
    }
    let picture = io::read(path, &crate::run::read_options())?;
    Ok(Profile::estimate(
        picture.frame.color().with_context(named)?,
    ))
}
