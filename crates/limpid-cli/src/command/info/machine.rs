//! The capabilities of this build and this machine.

use super::schedules;
use crate::say::tell;
use anyhow::Result;
use limpid::Device;
use limpid::exec::cpu::Cpu;
use limpid::exec::gpu::Adapter;
use limpid::io::Format;
use limpid::method::Backend;
use serde_json::{Value, json};

pub(super) fn run(as_json: bool) -> Result<()> {
    if as_json {
        tell!(
            "{}",
            serde_json::to_string_pretty(&json!({ "devices": devices()?, "methods": methods() }))?
        );
        return Ok(());
    }
    tell!("limpid {}\n\ndevices", env!("CARGO_PKG_VERSION"));
    for device in devices()? {
        tell!("  {:<8} {}", text(&device["name"]), text(&device["what"]));
        if let Some(facts) = device["facts"].as_object() {
            let facts: Vec<String> = facts.iter().filter_map(|(k, v)| short(k, v)).collect();
            tell!("           {}", facts.join(", "));
        }
    }
    let used = Device::open("auto").map_or_else(|e| e.to_string(), |d| d.name());
    tell!("  auto     {used}");
    tell!("\nfiles");
    let usual = |format: &Format| format.extensions().first().map(|e| format!(".{e}"));
    let images: Vec<String> = Format::ALL.iter().filter_map(usual).collect();
    tell!("  images   {}", images.join(" "));
    let films = match has_ffmpeg() {
        true => "by ffmpeg",
        false => "need ffmpeg, which was not found",
    };
    tell!("  films    .y4m and -; .mp4 .mkv .mov and others {films}");
    tell!("\nlimpid methods                 which method to use when");
    tell!("limpid info FILE               contents of a file; --noise: its noise");
    tell!("limpid info --schedules NAME   schedules of a method");
    tell!("limpid info --json             everything");
    Ok(())
}

/// A fact in the overview; JSON has all of them.
fn short(name: &str, value: &Value) -> Option<String> {
    match (name, value) {
        ("memory MiB", value) => Some(format!("memory {} MiB", text(value))),
        ("SIMD levels", value) => Some(format!("SIMD levels {}", text(value))),
        ("subgroups", value) => Some(format!("subgroups {}", text(value))),
        ("f16", Value::Bool(true)) => Some("f16".to_owned()),
        _ => None,
    }
}

/// Whether ffmpeg is on the path.
fn has_ffmpeg() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("ffmpeg{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).any(|folder| folder.join(&name).is_file())
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
        "what": cpu.describe(),
        "facts": { "memory MiB": memory() >> 20, "SIMD levels": Cpu::levels().iter().map(|(n, _)| *n).collect::<Vec<_>>().join(" ") },
    })];
    let adapters = Adapter::all().unwrap_or_else(|error| {
        let what = error.to_string();
        devices.push(json!({ "name": "gpu", "what": what, "facts": {} }));
        Vec::new()
    });
    for adapter in adapters {
        let target = adapter.target;
        let software = if adapter.software {
            ", software adapter, not used by auto"
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
                "memory MiB": adapter.memory().map_or(json!("unknown"), |m| json!(m >> 20)),
                "largest buffer MiB": target.binding_bytes >> 20,
                "texture side": target.texture_side,
                "workgroup": target.invocations,
                "workgroup memory KiB": target.workgroup_bytes >> 10,
                "subgroups": target.subgroup.map_or("none".to_owned(), |(a, b)| format!("{a}..{b}")),
                "f16": target.f16,
                "timestamps": adapter.timestamps,
            },
        }));
    }
    Ok(devices)
}

/// Memory of this machine in bytes; 0 if it is unknown.
#[cfg(target_os = "linux")]
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|l| l.strip_prefix("MemTotal:"));
    let kib = total.and_then(|t| t.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Memory of this machine in bytes.
#[cfg(not(target_os = "linux"))]
fn memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    system.total_memory()
}

fn methods() -> Vec<Value> {
    let names = |entry, on| -> Vec<String> {
        let all = schedules::all(entry, on);
        all.into_iter().map(|f| f.name).collect()
    };
    limpid_lab::methods()
        .map(|entry| {
            let method = (entry.make)();
            let options: Vec<Value> = method
                .named_options()
                .into_iter()
                .map(|k| json!({ "name": k.name, "about": k.about, "default": k.value, "form": k.form }))
                .collect();
            json!({
                "name": entry.path(),
                "about": entry.about,
                "schedules": {
                    "cpu": names(entry, Backend::Cpu),
                    "gpu": names(entry, Backend::Gpu),
                },
                "options": options,
            })
        })
        .collect()
}
