//! The arguments of the functions of the plugin: the options of the library, by their names.

use crate::api::Map;
use limpid::method::{Auto, Use, find};
use limpid::{Device, Error, Frame, Image, Options, Result, Sequence, Watch};
use std::ffi::CStr;

/// Arguments of `limpid.Film`, as VapourSynth writes them.
pub(crate) const FILM: &CStr = c"clip:vnode;quality:data:opt;merge:int:opt;luminance:float:opt;chroma:float:opt;grain:float:opt;\
strength:float:opt;sigma:float:opt;noise:data:opt;device:data:opt;threads:int:opt;";

/// Arguments of `limpid.Denoise`.
pub(crate) const DENOISE: &CStr =
    c"clip:vnode;method:data:opt;quality:data:opt;luminance:float:opt;chroma:float:opt;\
strength:float:opt;sigma:float:opt;noise:data:opt;device:data:opt;threads:int:opt;";

/// The options of `limpid.Film`.
pub(crate) fn film(arguments: Map<'_>) -> Result<Options> {
    filled(Options::of(find(Use::Denoise, "film")?), arguments)
}

/// The options of `limpid.Denoise`.
pub(crate) fn denoise(arguments: Map<'_>) -> Result<Options> {
    let method = match arguments.data(c"method") {
        Some(name) => find(Use::Denoise, &name)?,
        None => Box::new(Auto::default()),
    };
    if method.lookahead() > 0 {
        return Err(Error::input(format!(
            "{} uses several frames: limpid.Film",
            method.name()
        )));
    }
    filled(Options::of(method), arguments)
}

fn filled(mut options: Options, arguments: Map<'_>) -> Result<Options> {
    let mut given: Vec<(&str, String)> = Vec::new();
    for (name, key) in [("quality", c"quality"), ("noise", c"noise")] {
        given.extend(arguments.data(key).map(|value| (name, value)));
    }
    for (name, key) in [
        ("luminance", c"luminance"),
        ("chroma", c"chroma"),
        ("grain", c"grain"),
        ("sigma", c"sigma"),
    ] {
        given.extend(arguments.float(key).map(|v| (name, (v as f32).to_string())));
    }
    given.extend(arguments.int(c"merge").map(|v| ("merge", v.to_string())));
    let given = given.iter().map(|(name, value)| (*name, value.as_str()));
    options.method.set_all(given)?;
    if let Some(strength) = arguments.float(c"strength") {
        if !(0.0..=1.0).contains(&strength) {
            return Err(Error::option("strength", strength, "0 … 1"));
        }
        options.strength = strength as f32;
    }
    Ok(options)
}

/// Refuses options that no frame could be filtered with, before the first is asked for.
pub(crate) fn check(device: &Device, options: &Options) -> Result<()> {
    let nothing = Frame::new(Image::new(16, 16, 3))?;
    let made = Sequence::new(device, options).run(&nothing, &Watch::default());
    made.map(|_| ())
}

/// Whether the noise is to be measured.
pub(crate) fn is_measured(arguments: Map<'_>) -> bool {
    let named = arguments
        .data(c"noise")
        .is_some_and(|noise| noise != "auto");
    !named && arguments.float(c"sigma").is_none()
}

/// The device, with as many threads as were asked for.
pub(crate) fn device(arguments: Map<'_>) -> Result<Device> {
    let name = arguments.data(c"device");
    let threads = match arguments.int(c"threads") {
        Some(count) => Some(
            usize::try_from(count)
                .ok()
                .filter(|count| *count > 0)
                .ok_or_else(|| Error::option("threads", count, "at least 1"))?,
        ),
        None => None,
    };
    Device::open_with(name.as_deref().unwrap_or("auto"), threads, false)
}
