//! The package for browsers and Node.

use super::{Release, copy, describe, printed, write};
use crate::{Outcome, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What npm publishes, where npm is: the package, that with the larger network, and that with threads. They are installed into an empty folder
/// and tried.
pub(super) fn packages(release: &Release) -> Result<Vec<String>, String> {
    if printed(Command::new("npm").arg("--version")).is_err() {
        println!("xtask: npm is not installed; no npm package");
        return Ok(Vec::new());
    }
    let built = crate::web::package()?;
    let mut names = vec![
        packed(release, &built, "limpid-npm")?,
        packed(release, &crate::web::weights()?, "limpid-npm-weights")?,
    ];
    let threads = crate::web::threads::package()?;
    if let Some(threads) = &threads {
        names.push(packed(release, threads, "limpid-npm-threads")?);
    }
    let files = names.iter().map(|n| release.folder.join(n)).collect();
    tried(release, files, threads.is_some())?;
    Ok(names)
}

fn packed(release: &Release, folder: &Path, name: &str) -> Result<String, String> {
    let stage = release.stage("made-by-npm")?;
    let packed = printed(
        Command::new("npm")
            .args(["pack", "--silent", "--pack-destination"])
            .arg(&stage)
            .current_dir(folder),
    )?;
    let name = format!("{name}-{}.tgz", release.version);
    copy(&stage.join(packed.trim()), &release.folder.join(&name))?;
    Ok(name)
}

fn tried(release: &Release, packages: Vec<PathBuf>, threads: bool) -> Outcome {
    let folder = release.stage("tried-npm")?;
    write(&folder.join("package.json"), "{ \"type\": \"module\" }\n")?;
    fs::write(folder.join("noisy.pfm"), describe::noisy_picture()).map_err(|e| e.to_string())?;
    write(&folder.join("program.js"), TRY)?;
    run(Command::new("npm")
        .args(["install", "--silent", "--offline", "--no-save"])
        .args(packages)
        .current_dir(&folder))?;
    let with_code = ["limpid"]
        .into_iter()
        .chain(threads.then_some("limpid-threads"));
    for package in with_code {
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"] {
            let there = folder.join("node_modules").join(package).join(name);
            let there = there.is_file().then_some(());
            there.ok_or_else(|| format!("{package} has no {name}"))?;
        }
    }
    run(Command::new("node")
        .arg("program.js")
        .args(threads.then_some("threads"))
        .current_dir(&folder))
}

const TRY: &str = "\
import { readFileSync, writeFileSync } from \"node:fs\";
import { Limpid } from \"limpid\";
const threads = process.argv[2] ? (await import(\"limpid-threads\")).threads({ count: 2 }) : undefined;
const limpid = await Limpid.create({ device: \"cpu\", threads });
if (limpid.device.threads !== (threads ? 2 : 1)) throw new Error(\"another number of threads\");
const noisy = limpid.read(readFileSync(\"noisy.pfm\"), \"noisy.pfm\");
const clean = await limpid.denoise(noisy, { method: \"eaw\", sigma: 0.06 });
const spread = (values) => values.reduce((sum, v) => sum + (v - 0.5) ** 2, 0);
if (!(spread(clean.values()) < 0.5 * spread(noisy.values()))) throw new Error(\"the picture is as noisy as before\");
limpid.loadBestWeights(readFileSync(\"node_modules/limpid-weights/best.safetensors\"));
writeFileSync(\"clean.exr\", clean.encode(\"exr\"));
";
