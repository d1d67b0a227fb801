//! The schedules of methods: all that any options allow, with the options that they need.

use crate::say::tell;
use anyhow::Result;
use limpid::conformance::examples;
use limpid::method::{Backend, Entry, Method};
use serde_json::{Value, json};

/// A schedule and the options that it needs.
pub(super) struct ScheduleInfo {
    pub(super) name: String,
    /// An option and its value, if the schedule is not available by default; empty if it needs several.
    pub(super) needs: Option<String>,
}

/// All schedules for a back end: those of the default options in their order, then those that other options enable.
pub(super) fn all(entry: &Entry, on: Backend) -> Vec<ScheduleInfo> {
    let default = (entry.make)();
    let plain = |name: String| ScheduleInfo { name, needs: None };
    let mut found: Vec<ScheduleInfo> = names(default.as_ref(), on).into_iter().map(plain).collect();
    for example in examples(default.as_ref()) {
        for name in names(example.as_ref(), on) {
            if found.iter().all(|f| f.name != name) {
                let needs = Some(needs(entry, example.as_ref(), on, &name));
                found.push(ScheduleInfo { name, needs });
            }
        }
    }
    found
}

fn names(method: &dyn Method, on: Backend) -> Vec<String> {
    let all = method.schedules(on);
    all.iter().map(ToString::to_string).collect()
}

/// The one option of an example that enables a schedule.
fn needs(entry: &Entry, example: &dyn Method, on: Backend, name: &str) -> String {
    let default = (entry.make)().named_options();
    let changed = example.named_options().into_iter().zip(default);
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

/// One schedule per line; the first of each device is the default.
pub(super) fn print(entry: &Entry, as_json: bool) -> Result<()> {
    if as_json {
        let lists = |on| -> Vec<Value> {
            let fact = |f: ScheduleInfo| json!({ "name": f.name, "needs": f.needs });
            all(entry, on).into_iter().map(fact).collect()
        };
        let value = json!({
            "name": entry.path(),
            "schedules": { "cpu": lists(Backend::Cpu), "gpu": lists(Backend::Gpu) },
        });
        tell!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    tell!("{}: {}", entry.path(), entry.about);
    for on in [Backend::Cpu, Backend::Gpu] {
        tell!("\n{on}:");
        for (k, found) in all(entry, on).iter().enumerate() {
            let note = match &found.needs {
                None if k == 0 => "the default".to_owned(),
                None => String::new(),
                Some(option) if option.is_empty() => "with other options".to_owned(),
                Some(option) => format!("with {option}"),
            };
            tell!("{}", format!("  {:<34} {note}", found.name).trim_end());
        }
    }
    Ok(())
}
