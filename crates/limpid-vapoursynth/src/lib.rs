//! Limpid in VapourSynth, a frame server for scripts that edit films: `core.limpid.Film` and `core.limpid.Denoise`.
//!
//! Frames may be asked for in any order, and have the same pixels in any order: a result depends on the frames around it and on
//! the noise that is measured in every 24th frame of the clip, and on nothing that was asked for before.

mod api;
mod filter;
mod form;
mod options;
mod picture;
mod window;

use api::{PluginTable, RawPlugin, register};

/// What VapourSynth calls when it loads the plugin.
///
/// # Safety
///
/// The arguments are a plugin that is being loaded, and VapourSynth's table.
#[unsafe(no_mangle)]
#[expect(private_interfaces, reason = "only VapourSynth looks into a plugin")]
pub unsafe extern "system" fn VapourSynthPluginInit2(plugin: *mut RawPlugin, table: &PluginTable) {
    let film: api::Make = filter::make_film;
    let denoise: api::Make = filter::make_denoise;
    // SAFETY: as the caller promises.
    unsafe {
        register(
            plugin,
            table,
            [
                (c"Film", options::FILM, film),
                (c"Denoise", options::DENOISE, denoise),
            ],
        );
    }
}
