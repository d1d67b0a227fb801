//! What this build and this machine can do.

use crate::say::tell;
use anyhow::Result;
use limpid::exec::cpu::Cpu;
use limpid::exec::gpu::Adapter;
use limpid::method::{Backend, METHODS};
use serde_json::{Value, json};

pub(super) fn run(as_json: bool) -> Result<()> {
    if as_json {
        tell!(
            "{}",
            serde_json::to_string_pretty(&json!({ "devices": devices()?, "methods": methods() }))?
        );
        return Ok(());
    }
    tell!("limpid {}\n\ndevices:", env!("CARGO_PKG_VERSION"));
    for device in devices()? {
        tell!("  {:<8} {}", text(&device["name"]), text(&device["what"]));
        if let Some(facts) = device["facts"].as_object() {
            let facts: Vec<String> = facts
                .iter()
                .map(|(k, v)| format!("{k} {}", text(v)))
                .collect();
            tell!("           {}", facts.join(", "));
        }
    }
    tell!("\nmethods:");
    for method in methods() {
        tell!("  {:<18} {}", text(&method["name"]), text(&method["about"]));
        for on in ["cpu", "gpu"] {
            let names: Vec<String> = method["schedules"][on]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            tell!("  {:<18} {on}: {}", "", names.join(", "));
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn devices() -> Result<Vec<Value>> {
    let cpu = Cpu::new(None)?;
    let mut devices = vec![json!({
        "name": "cpu",
        "what": format!("{} threads, {}", cpu.threads(), cpu.level_name()),
        "facts": { "memory MiB": memory() >> 20, "SIMD levels": Cpu::levels().iter().map(|(n, _)| *n).collect::<Vec<_>>().join(" ") },
    })];
    for adapter in Adapter::all() {
        let target = adapter.target;
        let software = if adapter.software {
            ", software: never chosen by auto"
        } else {
            ""
        };
        devices.push(json!({
            "name": format!("gpu:{}", adapter.index),
            "what": format!(
                "{} ({:?}, {} {}{software})",
                adapter.info.name, adapter.info.backend, adapter.info.driver, adapter.info.driver_info
            ),
            "facts": {
                "memory MiB": adapter.memory().map_or(json!("not told by the driver"), |m| json!(m >> 20)),
                "largest buffer MiB": target.binding_bytes >> 20,
                "texture side": target.texture_side,
                "workgroup": target.invocations,
                "workgroup memory KiB": target.workgroup_bytes >> 10,
                "sub-groups": target.subgroup.map_or("none".to_owned(), |(a, b)| format!("{a}..{b}")),
                "f16": target.f16,
                "timestamps": adapter.timestamps,
            },
        }));
    }
    Ok(devices)
}

/// Bytes of memory of this machine.
fn memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    system.total_memory()
}

fn methods() -> Vec<Value> {
    let names = |method: &dyn limpid::method::Method, on| -> Vec<String> {
        method
            .schedules(on)
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    METHODS
        .iter()
        .map(|entry| {
            let method = (entry.make)();
            let options: Vec<Value> = method
                .knobs()
                .into_iter()
                .map(|k| json!({ "name": k.name, "about": k.about, "default": k.value, "form": k.form }))
                .collect();
            json!({
                "name": entry.path(),
                "about": entry.about,
                "schedules": {
                    "cpu": names(method.as_ref(), Backend::Cpu),
                    "gpu": names(method.as_ref(), Backend::Gpu),
                },
                "options": options,
            })
        })
        .collect()
}
