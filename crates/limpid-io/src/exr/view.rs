//! Stereo files. The views of a file are separate parts with the attribute `view`, whose names end with it (`rgba_left`), or
//! layers named after them in one part with the attribute `multiView`. The first view is used, the others are preserved.

use super::text;
use ::exr::meta::header::Header;

/// The names of the views, the first one first.
fn views(headers: &[Header]) -> Vec<String> {
    let own = |h: &Header| h.own_attributes.view_name.clone();
    let mut views: Vec<String> = Vec::new();
    for header in headers {
        let several = header.own_attributes.multi_view_names.clone();
        for name in several.unwrap_or_default().into_iter().chain(own(header)) {
            let name = text(name.as_slice());
            if !name.is_empty() && !views.contains(&name) {
                views.push(name);
            }
        }
    }
    views
}

/// The name of a group of channels without its view; `None` if it does not belong to the first view.
pub(super) fn name_in_first(headers: &[Header], part: usize, name: &str) -> Option<String> {
    let Some(view) = &headers[part].own_attributes.view_name else {
        return Some(name.to_owned());
    };
    let view = text(view.as_slice());
    if views(headers).first() != Some(&view) {
        return None;
    }
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let plain = first
        .strip_suffix(&view)
        .and_then(|n| n.strip_suffix(['_', '-', ' ']))
        .unwrap_or(first);
    Some(match rest {
        "" => plain.to_owned(),
        rest => format!("{plain}.{rest}"),
    })
}

/// A note about the other views for the user.
pub(super) fn note(headers: &[Header]) -> Option<String> {
    match &views(headers)[..] {
        [first, others @ ..] if !others.is_empty() => Some(format!(
            "the view {first} is used; {} is preserved unchanged",
            others.join(", ")
        )),
        _ => None,
    }
}
