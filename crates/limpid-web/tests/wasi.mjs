// Runs a test program that was compiled to WebAssembly: node wasi.mjs PROGRAM.wasm ARGUMENTS.

import { readFileSync } from "node:fs";
import { argv, env, exit } from "node:process";
import { WASI } from "node:wasi";

const [program, ...rest] = argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...rest], env, preopens: { "/": "/" }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
exit(wasi.start(instance));
