//! Cycles' `Noisy Image`: the colour before Cycles' own denoiser, whose result is in `Combined`.

use super::assign::{Candidate, Group, Mapped, same_window};
use ::exr::meta::header::Header;
use limpid_core::Layer;

/// Cycles stores the noisy image separately if its own denoiser ran.
fn noisy_image(groups: &[Group]) -> Option<&Group> {
    groups.iter().find(|g| {
        let last = g.name.rsplit('.').next().unwrap_or_default();
        last.eq_ignore_ascii_case("Noisy Image")
    })
}

/// Whether the colour is the noisy image of Cycles.
fn uses(noisy: &Group, layers: &[Mapped]) -> bool {
    let color = layers.iter().find(|m| m.layer == Layer::COLOR);
    color.is_some_and(|c| {
        c.part == noisy.part && noisy.channels.iter().any(|(i, _)| c.channels.contains(i))
    })
}

/// If the colour is the noisy image of Cycles: the layer with Cycles' own result, which is the one that people look at.
pub(super) fn home(
    layers: &[Mapped],
    candidates: &[Candidate],
    groups: &[Group],
    headers: &[Header],
) -> Option<(Mapped, String)> {
    let noisy = noisy_image(groups).filter(|noisy| uses(noisy, layers))?;
    let fits = |c: &&Candidate| {
        c.mapped.layer == Layer::COLOR
            && same_window(&headers[c.mapped.part], &headers[noisy.part])
            && !std::ptr::eq(&groups[c.group], noisy)
    };
    let best = candidates.iter().filter(fits).min_by_key(|c| c.rank)?;
    let name = groups[best.group].name.clone();
    Some((best.mapped.clone(), name))
}

/// A note on where the result is written.
pub(super) fn told((_, name): &(Mapped, String)) -> String {
    let name = if name.is_empty() { "RGBA" } else { name };
    format!("the result takes the place of {name}; the noisy image stays as it is")
}

/// A note where Cycles' own denoiser ran.
pub(super) fn already_denoised(layers: &[Mapped], groups: &[Group], notes: &mut Vec<String>) {
    let Some(noisy) = noisy_image(groups) else {
        return;
    };
    if !uses(noisy, layers) {
        notes.push(
            "the colour may already be denoised; to use the noisy image, select it with 'color=Noisy Image'"
                .to_owned(),
        );
    }
}
