//! Limpid for Python: a thin shell around the library. What users see is in `limpid/*.py`; here arrays become frames and back,
//! work runs without the interpreter's lock, and errors become exceptions.

mod array;
mod cwt;
mod denoise;
mod error;
mod files;
mod gpu;
mod levels;
mod packets;
mod scene;
mod score;
mod shrink;
mod wavelets;
mod whole;
mod work;

use pyo3::prelude::*;

/// What `limpid` is made of.
#[pymodule]
fn _limpid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::collect_messages();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<denoise::Device>()?;
    module.add_class::<denoise::Engine>()?;
    module.add_class::<files::Origin>()?;
    module.add_class::<wavelets::Bank>()?;
    module.add_class::<gpu::Place>()?;
    module.add_class::<gpu::Numbers>()?;
    macro_rules! functions {
        ($($function:path),* $(,)?) => {
            $(module.add_function(wrap_pyfunction!($function, module)?)?;)*
        };
    }
    functions!(
        denoise::devices,
        denoise::methods,
        denoise::profile,
        files::read,
        files::read_pages,
        files::write,
        files::write_pages,
        files::png,
        score::compare,
        score::page,
        scene::render,
        scene::scenes,
        wavelets::wavelet_names,
        wavelets::filters,
        wavelets::dwt2,
        packets::parts,
        packets::parts2,
        wavelets::idwt2,
        wavelets::dwt,
        wavelets::idwt,
        wavelets::swt,
        wavelets::iswt,
        levels::wavedec,
        levels::waverec,
        levels::dwt_adjoint,
        levels::smooth,
        cwt::filter_lines,
        whole::split53,
        whole::join53,
        shrink::median_abs,
        shrink::denoise_wavelet,
        work::panic_for_tests,
    );
    Ok(())
}
