//! What a file of coefficients says about them: the options of `limpid dwt`, so that `limpid idwt` needs none.

use super::value;
use crate::method_options::Given;
use crate::say::OrUsage;
use anyhow::Result;
use limpid::method::Method;
use limpid::{Error, Size};
use serde_json::{Map, Value};
use std::path::Path;

/// The attribute of the file.
pub(super) const NAME: &str = "limpid.dwt";

/// Options that both directions have to agree on.
const SHARED: [&str; 8] = [
    "wavelet",
    "levels",
    "scale",
    "boundary",
    "layout",
    "undecimated",
    "reversible",
    "frames",
];

/// The attribute for the coefficients of an image of this size.
pub(super) fn text(method: &dyn Method, scheme: Option<&str>, size: Size) -> (String, String) {
    let mut stored = Map::new();
    for name in SHARED {
        stored.insert(name.to_owned(), value(method, name).into());
    }
    stored.insert("size".to_owned(), size.to_string().into());
    if let Some(scheme) = scheme {
        stored.insert("scheme".to_owned(), scheme.into());
    }
    (NAME.to_owned(), Value::Object(stored).to_string())
}

/// Sets the options of the inverse transform to those in the file, which are this text. Options that say something else are errors; a file that
/// says nothing needs at least the wavelet and the levels.
pub(super) fn apply(
    text: Option<&str>,
    path: &Path,
    method: &mut dyn Method,
    (given, size): (&Given, Option<Size>),
) -> Result<()> {
    let stored: Option<Map<String, Value>> = text.and_then(|t| serde_json::from_str(t).ok());
    let path = path.display();
    let Some(stored) = stored else {
        let missing: Vec<&str> = ["wavelet", "levels"]
            .into_iter()
            .filter(|name| !given.has(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        return Err(Error::input(format!(
            "{path}: the file does not say how its coefficients were made; add --{}, as for `limpid dwt`",
            missing.join(" and --")
        )))
        .or_usage();
    };
    let differs = |name: &str, made: &str, given: &str| {
        Err(Error::input(format!(
            "{path}: the coefficients were made with --{name} {made}, not {given}; leave --{name} out"
        )))
        .or_usage()
    };
    let read = |name: &str| stored.get(name).and_then(Value::as_str);
    for name in SHARED {
        let (asked, Some(made)) = (value(method, name), read(name)) else {
            continue;
        };
        if given.has(name) && asked != made {
            return differs(name, made, &asked);
        }
        if asked != made {
            method.set(name, made)?;
        }
    }
    if let Some(made) = read("size") {
        match size {
            Some(given) if given.to_string() != made => {
                return differs("size", made, &given.to_string());
            }
            _ => method.set("size", made)?,
        }
    }
    Ok(())
}
