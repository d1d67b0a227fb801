//! The schedules of methods: all that any options give, in groups.

use anyhow::Result;
use limpid::method::{Backend, Entry, Method};
use serde_json::{Value, json};

/// How many names, and how many endings, a line of the overview shows.
const SHOWN: usize = 6;
/// From this many schedules on, endings are not told apart by the names that have them.
const MANY: usize = 16;

/// A schedule and the options that it needs.
pub(super) struct Found {
    pub(super) name: String,
    /// An option and its value, if the defaults do not have the schedule; empty when it takes several.
    pub(super) needs: Option<String>,
}

/// All schedules for a back end: those of the default options in their order, then those that other options bring.
pub(super) fn all(entry: &Entry, on: Backend) -> Vec<Found> {
    let default = (entry.make)();
    let plain = |name: String| Found { name, needs: None };
    let mut found: Vec<Found> = names(default.as_ref(), on).into_iter().map(plain).collect();
    for example in default.examples() {
        for name in names(example.as_ref(), on) {
            if found.iter().all(|f| f.name != name) {
                let needs = Some(needs(entry, example.as_ref(), on, &name));
                found.push(Found { name, needs });
            }
        }
    }
    found
}

fn names(method: &dyn Method, on: Backend) -> Vec<String> {
    let all = method.schedules(on);
    all.iter().map(ToString::to_string).collect()
}

/// The one option of an example that brings a schedule.
fn needs(entry: &Entry, example: &dyn Method, on: Backend, name: &str) -> String {
    let default = (entry.make)().knobs();
    let changed = example.knobs().into_iter().zip(default);
    let alone = changed.filter(|(a, b)| a.value != b.value).find(|(a, _)| {
        let mut method = (entry.make)();
        let set = method.set(&a.name, &a.value).is_ok();
        set && names(method.as_ref(), on).iter().any(|n| n == name)
    });
    alone.map_or_else(String::new, |(k, _)| match k.value.as_str() {
        "true" => format!("--{}", k.name),
        value => format!("--{} {value}", k.name),
    })
}

/// Names with the same endings behind a colon stand together: `a, b (each also with :x, :y)`.
pub(super) fn grouped(found: &[Found]) -> String {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for f in found {
        let (name, ending) = f.name.split_once(':').unwrap_or((f.name.as_str(), ""));
        match names.iter_mut().find(|n| n.0 == name) {
            Some((_, endings)) => endings.push(ending),
            None => names.push((name, vec![ending])),
        }
    }
    if found.len() >= MANY {
        let mut endings: Vec<&str> = names.iter().flat_map(|n| n.1.clone()).collect();
        endings.sort_unstable();
        endings.dedup();
        let names: Vec<&str> = names.iter().map(|n| n.0).collect();
        return format!("{}; some with {}", list(&names), colons(&endings));
    }
    let mut groups: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (name, endings) in names {
        match groups.iter_mut().find(|g| g.1 == endings) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], endings)),
        }
    }
    let text = |(names, endings): (Vec<&str>, Vec<&str>)| {
        let each = if names.len() > 1 { "each " } else { "" };
        let also = if endings.contains(&"") { "also " } else { "" };
        match endings[..] {
            [""] => list(&names),
            [one] if names.len() == 1 => format!("{}:{one}", names[0]),
            _ => format!("{} ({each}{also}with {})", list(&names), colons(&endings)),
        }
    };
    groups.into_iter().map(text).collect::<Vec<_>>().join("; ")
}

/// The first names, and how many follow.
fn list(names: &[&str]) -> String {
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Endings as they are written behind a name.
fn colons(endings: &[&str]) -> String {
    let written: Vec<String> = (endings.iter().filter(|e| !e.is_empty()))
        .map(|e| format!(":{e}"))
        .collect();
    list(&written.iter().map(String::as_str).collect::<Vec<_>>())
}

/// One schedule per line; the first of each device is what runs when none is named.
pub(super) fn print(entry: &Entry, as_json: bool) -> Result<()> {
    if as_json {
        let lists = |on| -> Vec<Value> {
            let fact = |f: Found| json!({ "name": f.name, "needs": f.needs });
            all(entry, on).into_iter().map(fact).collect()
        };
        let value = json!({
            "name": entry.path(),
            "schedules": { "cpu": lists(Backend::Cpu), "gpu": lists(Backend::Gpu) },
        });
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    println!("{}: {}", entry.path(), entry.about);
    for on in [Backend::Cpu, Backend::Gpu] {
        println!("\n{on}:");
        for (k, found) in all(entry, on).iter().enumerate() {
            let note = match &found.needs {
                None if k == 0 => "the default".to_owned(),
                None => String::new(),
                Some(option) if option.is_empty() => "with other options".to_owned(),
                Some(option) => format!("with {option}"),
            };
            println!("{}", format!("  {:<34} {note}", found.name).trim_end());
        }
    }
    Ok(())
}
