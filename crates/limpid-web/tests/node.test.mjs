// The package in Node, on the CPU.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { before, test } from "node:test";
import { brotliCompressSync, constants } from "node:zlib";
import { BEST, CASES, TOLERANCE, difference } from "./cases.mjs";
import { files, packageFolder } from "./native.mjs";

const own = (name) => import(pathToFileURL(join(packageFolder, name)));
const [{ Limpid }, { unpack }] = await Promise.all(["limpid.js", "unpack.js"].map(own));
/** The most bytes of what a page loads from a host that compresses text, and of the package. */
const MOST = 2_000_000;
let limpid, all;

before(async () => {
  all = files();
  limpid = await Limpid.create({ device: "cpu" });
});

for (const one of CASES) {
  test(`${one.name} equals the program`, async () => {
    const apart = await difference(limpid, all, one);
    assert.ok(apart <= TOLERANCE, `${apart}`);
  });
}

test("arrays in, arrays out", async () => {
  const picture = limpid.read(all["render.exr"], "render.exr");
  assert.ok(["color", "albedo", "normal", "depth"].every((layer) => picture.layers.includes(layer)), picture.layers.join());
  const { width, height } = picture;
  const wide = (values) => Float32Array.from({ length: 4 * width * height }, (_, i) => (i % 4 < 3 ? values[3 * (i >> 2) + (i % 4)] : 1));
  const layers = { width, height, color: wide(picture.values()), albedo: picture.values("albedo"), normal: picture.values("normal"),
    depth: picture.values("depth") };
  const out = await limpid.denoise(layers, { method: "neural" });
  assert.equal(out.color.length, 3 * width * height);
  const same = await limpid.denoise(layers, { method: "neural", strength: 0 });
  same.color.forEach((v, i) => assert.ok(Math.abs(v - layers.color[4 * Math.floor(i / 3) + (i % 3)]) < 1e-6));
  assert.notDeepEqual(out.color, same.color);
});

test("files keep what they are", async () => {
  const clean = await limpid.denoise(limpid.read(all["render.exr"], "render.exr"));
  const again = limpid.read(clean.encode("exr"), "clean.exr");
  assert.deepEqual(again.values(), clean.values());
  assert.ok(again.layers.includes("normal"));
  const png = limpid.read(clean.encode("png", { bits: 16 }), "clean.png");
  assert.equal(png.transfer, "encoded");
  assert.equal(clean.compare(clean).MSE, "0");
});

test("what is wrong is said", async () => {
  const damaged = all["render.exr"].slice(0, 5000);
  assert.throws(() => limpid.read(damaged, "render.exr"), /render\.exr: /);
  assert.throws(() => limpid.read(new Uint8Array(), "nothing.png"), /nothing\.png: the file is empty/);
  assert.throws(() => limpid.read(all["photo.webp"], "photo.webp"), /photo\.webp: this build of Limpid has no WebP/);
  const picture = limpid.read(all["render.exr"], "render.exr");
  await assert.rejects(limpid.denoise(picture, { method: "magic" }), /magic/);
  await assert.rejects(limpid.denoise(picture, { method: "atrous", wonder: 3 }), /wonder/);
  await assert.rejects(limpid.denoise({ width: 4, height: 4, color: new Float32Array(7) }), Error);
  await assert.rejects(limpid.denoise(picture, { method: "neural", quality: "best" }), /larger network/);
});

test("the larger network is a file of its own", async () => {
  limpid.loadBestWeights(readFileSync(join(packageFolder, "../limpid-weights/best.safetensors")));
  const apart = await difference(limpid, all, BEST);
  assert.ok(apart <= TOLERANCE, `${apart}`);
});

test("work is told of and stopped", async () => {
  const picture = limpid.read(all["render.exr"], "render.exr");
  const shares = [];
  await limpid.denoise(picture, { progress: (share) => shares.push(share) });
  assert.ok(shares.length > 3 && shares.at(-1) > 0.99, shares.join());
  const stop = new AbortController();
  const work = limpid.denoise(picture, { signal: stop.signal, progress: (share) => share > 0.2 && stop.abort() });
  await assert.rejects(work, { name: "AbortError" });
});

test("memory of many pictures stays flat", async () => {
  const picture = limpid.read(all["render.exr"], "render.exr");
  const once = async () => (await limpid.denoise(picture, { method: "atrous" })).free();
  for (let i = 0; i < 10; i++) await once();
  const before = limpid.memory;
  for (let i = 0; i < 50; i++) await once();
  assert.equal(limpid.memory, before);
});

test("the module is unpacked from bytes too, and a damaged one is refused", async () => {
  const bytes = readFileSync(join(packageFolder, "limpid.wasm.lzma"));
  const module = await unpack(bytes);
  assert.deepEqual([...module.subarray(0, 4)], [0, 0x61, 0x73, 0x6d]);
  assert.ok(WebAssembly.validate(module));
  for (const length of [0, 17, 1000, bytes.length >> 1]) {
    await assert.rejects(unpack(bytes.subarray(0, length)), /packed module is damaged/);
  }
  const other = Uint8Array.from(bytes);
  other[0] = 255;
  await assert.rejects(unpack(other), /packed module is damaged/);
});

// What a page loads, as hosts send it, and what `npm install` downloads.
test("the package is small", () => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
  const loaded = ["limpid.js", "limpid_web.js", "unpack.js", "limpid.wasm.lzma"].map((name) => readFileSync(join(packageFolder, name)));
  const sent = loaded.reduce((sum, file) => sum + brotliCompressSync(file, { params }).length, 0);
  const [{ size }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: packageFolder, encoding: "utf8" }));
  console.log(`a page loads ${sent} bytes; npm's package has ${size}`);
  assert.ok(sent <= MOST, `${sent}`);
  assert.ok(size <= MOST, `${size}`);
});
