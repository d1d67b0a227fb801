//! The package for browsers and Node.

use super::{Release, copy, describe, printed, write};
use crate::{Outcome, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What npm publishes, where npm is: the package, which is installed into an empty folder and tried, and that with the larger network.
pub(super) fn packages(release: &Release) -> Result<Vec<String>, String> {
    if printed(Command::new("npm").arg("--version")).is_err() {
        println!("xtask: npm is not installed; no npm package");
        return Ok(Vec::new());
    }
    let built = crate::web::package()?;
    let name = packed(release, &built, "limpid-npm")?;
    let weights = packed(release, &crate::web::weights()?, "limpid-npm-weights")?;
    tried(release, [&name, &weights].map(|n| release.folder.join(n)))?;
    Ok(vec![name, weights])
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

fn tried(release: &Release, packages: [PathBuf; 2]) -> Outcome {
    let folder = release.stage("tried-npm")?;
    write(&folder.join("package.json"), "{ \"type\": \"module\" }\n")?;
    fs::write(folder.join("noisy.pfm"), describe::noisy_picture()).map_err(|e| e.to_string())?;
    write(&folder.join("program.js"), TRY)?;
    run(Command::new("npm")
        .args(["install", "--silent", "--offline", "--no-save"])
        .args(packages)
        .current_dir(&folder))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"] {
        let there = folder.join("node_modules/limpid").join(name).is_file();
        there.then_some(()).ok_or_else(|| format!("no {name}"))?;
    }
    run(Command::new("node").arg("program.js").current_dir(&folder))
}

const TRY: &str = "\
import { readFileSync, writeFileSync } from \"node:fs\";
import { Limpid } from \"limpid\";
const limpid = await Limpid.create({ device: \"cpu\" });
const noisy = limpid.read(readFileSync(\"noisy.pfm\"), \"noisy.pfm\");
const clean = await limpid.denoise(noisy, { method: \"eaw\", sigma: 0.06 });
const spread = (values) => values.reduce((sum, v) => sum + (v - 0.5) ** 2, 0);
if (!(spread(clean.values()) < 0.5 * spread(noisy.values()))) throw new Error(\"the picture is as noisy as before\");
limpid.loadBestWeights(readFileSync(\"node_modules/limpid-weights/best.safetensors\"));
writeFileSync(\"clean.exr\", clean.encode(\"exr\"));
";
