// What the program makes of a few small files: the package must make the same of them.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BEST, CASES } from "./cases.mjs";

const program = process.env.LIMPID_PROGRAM ?? "limpid";
export const packageFolder = process.env.LIMPID_PACKAGE;
const FRAMES = 3;
const SIZE = "70x46";

/** Makes the files, and the results of the program on its CPU device. */
export function files() {
  const folder = mkdtempSync(join(tmpdir(), "limpid-web-"));
  const run = (...words) => execFileSync(program, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  run("render", "cornell", "--size", SIZE, "--spp", "2", "-o", "render.exr", "-q");
  run("render", "cornell", "--size", SIZE, "--spp", "2", "--frames", `0..${FRAMES - 1}`, "-o", "shot.####.exr", "-q");
  run("convert", "render.exr", "-o", "photo.png", "-q");
  run("convert", "render.exr", "-o", "photo.webp", "-q");
  run("render", "cornell", "--size", "1024x768", "--spp", "1", "-o", "large.exr", "-q");
  run("convert", "large.exr", "-o", "large.png", "-q");
  for (const { input, options, name } of [...CASES, BEST]) {
    const words = Object.entries(options).flatMap(([key, value]) => [`--${key}`, value]);
    const files = input === "shot" ? ["shot.####.exr", "-o", `${name}.####.exr`] : [input, "-o", `${name}.exr`];
    run("denoise", ...files, ...words, "--device", "cpu", "-q");
  }
  rmSync(join(folder, "large.exr"));
  return Object.fromEntries(readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]));
}
