//! Noise profiles as files: JSON, or an image that shows the noise.

use anyhow::{Context, Result};
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
    Ok(measured(path)?.0)
}

/// The same, and the ISO speed that its camera wrote.
pub(crate) fn measured(path: &Path) -> Result<(Profile, Option<u32>)> {
    let named = || path.display().to_string();
    if path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"))
    {
        let text = std::fs::read_to_string(path).with_context(named)?;
        return Ok((Profile::from_json(&text).with_context(named)?, None));
    }
    let picture = crate::heif::read(path, &crate::run::read_options())?;
    let profile = Profile::estimate(picture.frame.color().with_context(named)?);
    let iso = picture.origin.iso();
    let profile = match iso {
        Some(iso) => profile.at_iso(iso),
        None => profile,
    };
    Ok((profile, iso))
}
