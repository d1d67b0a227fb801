//! The package for browsers and Node.

use super::{Release, copy, describe, printed, write};
use crate::{Outcome, run};
use std::path::Path;
use std::process::Command;

/// What npm publishes, where npm is; it is installed into an empty folder and tried.
pub(super) fn package(release: &Release) -> Result<Option<String>, String> {
    if printed(Command::new("npm").arg("--version")).is_err() {
        println!("xtask: npm is not installed; no npm package");
        return Ok(None);
    }
    let built = crate::web::package()?;
    let folder = release.stage("made-by-npm")?;
    let packed = printed(
        Command::new("npm")
            .args(["pack", "--silent", "--pack-destination"])
            .arg(&folder)
            .current_dir(&built),
    )?;
    let made = folder.join(packed.trim());
    let name = format!("limpid-npm-{}.tgz", release.version);
    copy(&made, &release.folder.join(&name))?;
    tried(release, &release.folder.join(&name))?;
    Ok(Some(name))
}

fn tried(release: &Release, package: &Path) -> Outcome {
    let folder = release.stage("tried-npm")?;
    write(&folder.join("package.json"), "{ \"type\": \"module\" }\n")?;
    std::fs::write(folder.join("noisy.pfm"), describe::noisy_picture())
        .map_err(|e| e.to_string())?;
    write(&folder.join("program.js"), TRY)?;
    run(Command::new("npm")
        .args(["install", "--silent", "--offline", "--no-save"])
        .arg(package)
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
writeFileSync(\"clean.exr\", clean.encode(\"exr\"));
";
