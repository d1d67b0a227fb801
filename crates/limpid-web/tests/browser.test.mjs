// The package and the page in headless Chromium, with WebGPU on its software driver.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, extname, join, normalize } from "node:path";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CASES, TOLERANCE } from "./cases.mjs";
import { files, packageFolder } from "./native.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"];
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const PATIENCE = 1_800_000;
/** Whether the package with threads was built. */
const withThreads = existsSync(join(packageFolder, "../limpid-threads"));

const here = dirname(fileURLToPath(import.meta.url));
const found = new Map();
const requests = [];
let child, server, profile, all, larger = 0;
const marks = [];

function browser() {
  if (process.env.LIMPID_BROWSER) return process.env.LIMPID_BROWSER;
  const places = process.env.PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return places.find((place) => existsSync(place));
}

function answer(request, response, ended) {
  const path = normalize(new URL(request.url, "http://localhost").pathname);
  // With both, a page is isolated.
  const headers = { "cross-origin-embedder-policy": "require-corp", ...(path === "/isolated.html" && { "cross-origin-opener-policy": "same-origin" }) };
  const send = (body, type = "text/plain") => response.writeHead(200, { ...headers, "content-type": type }).end(body);
  if (path === "/found") {
    let text = "";
    request.on("data", (part) => { text += part; });
    request.on("end", () => {
      const one = JSON.parse(text);
      found.set(one.name, one);
      send("");
      if (one.name === "end") ended();
    });
    return;
  }
  if (path === "/mark") {
    marks.push(requests.length);
    return send("");
  }
  if (path === "/next") return send(JSON.stringify({ next: withThreads && "/isolated.html" }), "application/json");
  if (path === "/larger") return send(JSON.stringify(larger), "application/json");
  requests.push(path);
  // The first time, the larger network is not to be had.
  if (path === "/limpid-weights/best.safetensors" && larger++ === 0) return response.writeHead(503).end();
  if (path === "/files") return send(JSON.stringify(Object.keys(all)), "application/json");
  if (path.startsWith("/files/")) return send(all[decodeURIComponent(path.slice(7))]);
  const own = /^[/]([a-z]+[.]mjs|run[.]html|isolated[.]html)$/.test(path);
  const example = path === "/tracer.js";
  const folder = own ? here : example ? join(here, "../examples/three") : path.startsWith("/three/") ? process.env.LIMPID_MODULES : dirname(packageFolder);
  const file = join(folder, path);
  if (!existsSync(file)) return response.writeHead(404).end();
  send(readFileSync(file), TYPES[extname(path)]);
}

before(async () => {
  all = files();
  profile = mkdtempSync(join(tmpdir(), "limpid-browser-"));
  const done = new Promise((ended, failed) => {
    server = createServer((request, response) => answer(request, response, ended)).listen(0, "localhost", () => {
      const flags = ["--headless=new", "--no-sandbox", "--no-first-run", "--enable-unsafe-webgpu", "--enable-features=Vulkan",
        "--use-webgpu-adapter=swiftshader", "--disable-dev-shm-usage", `--user-data-dir=${profile}`];
      child = spawn(browser(), [...flags, `http://localhost:${server.address().port}/run.html?only=${process.env.LIMPID_ONLY ?? ""}`], { stdio: "ignore" });
      child.on("error", failed);
      child.on("exit", (code) => failed(new Error(`the browser ended (${code})`)));
    });
    setTimeout(() => failed(new Error(`no end after ${PATIENCE / 1000} s; found ${[...found.keys()]}`)), PATIENCE).unref();
  });
  await done.catch((error) => console.error(error.message));
  for (const { name, value, seconds, error } of found.values()) {
    if (process.env.LIMPID_VERBOSE) console.log(name, error ?? JSON.stringify(value), seconds?.toFixed(2));
  }
});

after(async () => {
  const ended = new Promise((resolve) => child?.once("exit", resolve) ?? resolve());
  child?.kill();
  await ended;
  server?.close();
  server?.closeAllConnections();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
});

/** A test of what the browser found. */
const saw = (name, judge) => test(name, () => {
  const one = found.get(name);
  assert.ok(one, "the browser did not come that far");
  assert.equal(one.error, undefined);
  judge(one.value);
});

for (const device of ["gpu", "cpu"]) {
  saw(`${device} opens`, (value) => assert.equal(value.kind, device));
  for (const { name } of CASES) saw(`${device} ${name}`, (apart) => assert.ok(apart <= TOLERANCE, `${apart}`));
  saw(`${device} ImageData`, (value) => assert.deepEqual(value, [true, 40, 30, 200, true]));
  saw(`${device} tiles`, (apart) => assert.ok(apart <= TOLERANCE, `${apart}`));
  saw(`${device} memory`, ([before, after]) => assert.equal(after, before));
}
saw("gpu textures", (apart) => assert.ok(apart <= TOLERANCE, `${apart}`));
saw("gpu buffers", (apart) => assert.ok(apart <= TOLERANCE, `${apart}`));
saw("gpu of the page", ([same, apart, wrong]) => {
  assert.ok(same);
  assert.ok(apart <= TOLERANCE, `${apart}`);
  assert.match(wrong, /no GPUDevice/);
});
saw("three.js", ([before, after, moving]) => {
  console.log(`three.js: the path tracer's error ${before.toFixed(4)}, denoised ${after.toFixed(4)}`);
  assert.ok(after > 0 && after < before / 3, `${before} ${after}`);
  assert.ok(moving);
});
saw("page opens", (said) => assert.match(said, /on the CPU, one thread \(this page is not isolated\)/));
saw("page network", (said) => {
  assert.match(said, /neural/);
  // From the first picture to where another device is chosen.
  assert.deepEqual(requests.slice(...marks), []);
});
saw("page viewer", (value) => assert.deepEqual(value, ["render.exr", "denoised", "slider"]));
saw("page keyboard", (said) => assert.deepEqual(said, ["difference", "0.5", "0", "side by side", "slider", "0.550"]));
saw("page touch", ([cut, zoomed]) => {
  assert.equal(cut, "0.250");
  assert.ok(Math.abs(zoomed - 2) < 0.05, `${zoomed}`);
});
saw("page dark", ([light, dark]) => assert.deepEqual([light, dark], ["rgb(251, 252, 253)", "rgb(20, 23, 26)"]));
saw("page stores nothing", (counts) => assert.deepEqual(counts, [0, 0, 0, 0, 0, 0]));
saw("page large slider", ([luminance, exposure]) => {
  console.log(`over 1024x768, luminance takes ${luminance.toFixed(0)} ms, exposure ${exposure.toFixed(0)} ms`);
  // 50 ms, and as much again for a busy machine. Larger pictures take no longer.
  assert.ok(luminance < 100, `${luminance}`);
  assert.ok(exposure < 100, `${exposure}`);
});
// Where shaders do not compute with half floats, neural runs in single precision, unless asked otherwise.
saw("gpu precision", ([feature, usual, half]) => {
  console.log(`shader-f16: ${feature}; neural differs from the program's CPU by ${usual}, with schedule half by ${half}`);
  assert.equal(feature, false);
  assert.ok(usual <= 1e-4, `${usual}`);
  assert.ok(half > usual && half <= 3e-3, `${half}`);
});
saw("page slider", (milliseconds) => assert.ok(milliseconds < 1000, `${milliseconds}`));
saw("page reference", (rows) => assert.equal(rows.length, 2));
saw("page other device", ([before, after]) => assert.deepEqual(after, before));
saw("page pasted", (shown) => assert.deepEqual(shown, ["photo.png", "photo.png"]));
saw("page WebP", (shown) => assert.deepEqual(shown, ["photo.webp", "denoised"]));
saw("page after a fault", (value) => assert.deepEqual(value, ["unreachable", "photo.png", "denoised"]));
saw("page larger network", ([photo, said, asked]) => {
  // Photographs do without it, and what failed once is tried again.
  assert.equal(photo, "");
  assert.match(said, /larger network.*503/);
  assert.equal(asked, 2);
});
saw("page broken file", (said) => assert.match(said, /broken\.exr: /));
saw("page frames", ([most, hidden]) => assert.deepEqual([most, hidden], ["2", false]));
saw("page lost device", ([device, said]) => {
  assert.equal(device, "gpu");
  assert.match(said, /nlm/);
});
if (withThreads) {
  saw("threads open", (value) => assert.deepEqual(value, [true, 1, 2]));
  for (const { name } of CASES) saw(`threads ${name}`, ([same, apart]) => {
    assert.ok(same);
    assert.ok(apart <= TOLERANCE, `${apart}`);
  });
  saw("threads leave the page free", ({ took, turns, shares, longest, name, seconds }) => {
    console.log(`nlm of 1024x768 on two threads takes ${took.toFixed(0)} ms; meanwhile the page is never away for more than ${longest.toFixed(0)} ms`);
    assert.ok(turns > 20 && shares > 3 && longest < took / 2, `${turns} ${shares} ${longest} ${took}`);
    assert.equal(name, "AbortError");
    assert.ok(seconds < took / 2000, `${seconds}`);
  });
  saw("threads memory", ([before, after]) => assert.equal(after, before));
  saw("threads end", ([count, apart]) => {
    assert.equal(count, 3);
    assert.ok(apart <= TOLERANCE, `${apart}`);
  });
  saw("threads fail", (said) => assert.deepEqual(said, [...Array(2).fill("RuntimeError: unreachable"), 32]));
  saw("page with threads", ([opened, done, count]) => {
    assert.match(opened, new RegExp(`on the CPU, ${count} threads`));
    assert.match(done, /neural/);
  });
}
