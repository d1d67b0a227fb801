// The package with threads, in Node: results of any number of threads are those of one, to the bit.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { before, test } from "node:test";
import { BEST, CASES, TOLERANCE, difference, results, same } from "./cases.mjs";
import { files, packageFolder } from "./native.mjs";

const threadsFolder = join(packageFolder, "../limpid-threads");
const place = (name) => pathToFileURL(name).href;
const { Limpid } = await import(place(join(packageFolder, "limpid.js")));
const { threads } = await import(place(join(threadsFolder, "threads.js")));
/** The most bytes of the package. */
const MOST = 2_000_000;
let alone, all;

before(async () => {
  all = files();
  alone = await Limpid.create({ device: "cpu" });
  alone.loadBestWeights(readFileSync(join(packageFolder, "../limpid-weights/best.safetensors")));
});

/** With so many threads, which end afterwards. */
async function withThreads(count, work) {
  const limpid = await Limpid.create({ device: "cpu", threads: threads({ count }) });
  try {
    return await work(limpid);
  } finally {
    limpid.free();
  }
}

for (const count of [1, 2, 3]) {
  test(`with ${count} threads, results are those of the other module, to the bit`, () => withThreads(count, async (limpid) => {
    assert.equal(limpid.device.kind, "cpu");
    assert.equal(limpid.device.threads, count);
    limpid.loadBestWeights(readFileSync(join(packageFolder, "../limpid-weights/best.safetensors")));
    for (const one of [...CASES, BEST]) {
      const [many, single] = [await results(limpid, all, one), await results(alone, all, one)];
      assert.ok(many.length > 0 && many.length === single.length);
      many.forEach((values, i) => assert.ok(same(values, single[i]), `${one.name}, ${i}`));
      const apart = await difference(limpid, all, one);
      assert.ok(apart <= TOLERANCE, `${one.name}: ${apart}`);
    }
  }));
}

test("large pictures too, whose memory grows meanwhile", () => withThreads(2, async (limpid) => {
  const before = limpid.memory;
  const options = { method: "eaw" };
  const values = await Promise.all([limpid, alone].map(async (own) => {
    const out = await own.denoise(own.read(all["large.png"], "large.png"), options);
    return out.values();
  }));
  assert.ok(same(...values));
  assert.ok(limpid.memory > before, `${limpid.memory}`);
}));

test("the thread that asks goes on, is told of the work, and stops it", () => withThreads(2, async (limpid) => {
  const picture = limpid.read(all["large.png"], "large.png");
  const shares = [];
  let turns = 0;
  const clock = setInterval(() => { turns++; }, 1);
  const start = performance.now();
  await limpid.denoise(picture, { method: "nlm", sigma: 0.1, progress: (share) => shares.push(share) });
  clearInterval(clock);
  const took = performance.now() - start;
  assert.ok(turns > 5, `${turns}`);
  assert.ok(shares.length > 3 && shares.at(-1) === 1, shares.join());
  const stop = new AbortController();
  const work = limpid.denoise(picture, { method: "nlm", sigma: 0.1, signal: stop.signal });
  setTimeout(() => stop.abort(), 20);
  const begin = performance.now();
  await assert.rejects(work, { name: "AbortError" });
  assert.ok(performance.now() - begin < took / 2);
  await assert.rejects(limpid.denoise(picture, { progress: () => { throw new Error("no"); } }), { name: "AbortError" });
  // Several at a time.
  const many = await Promise.all([1, 2, 3].map(() => limpid.denoise(picture, { method: "eaw" })));
  assert.ok(same(many[0].values(), many[2].values()));
}));

test("what is wrong is said", () => withThreads(2, async (limpid) => {
  assert.throws(() => threads({ count: 0 }), RangeError);
  assert.throws(() => limpid.read(all["render.exr"].slice(0, 5000), "render.exr"), /render\.exr: /);
  const picture = limpid.read(all["render.exr"], "render.exr");
  await assert.rejects(limpid.denoise(picture, { method: "magic" }), /magic/);
  await assert.rejects(limpid.denoise(picture, { method: "atrous", wonder: 3 }), /wonder/);
  await assert.rejects(limpid.denoise(limpid.read(all["photo.png"], "photo.png"), { method: "svgf" }), { name: "LimpidError" });
  await assert.rejects(alone.denoise(picture), /another memory/);
  assert.throws(() => limpid.textures({ color: {} }, {}), /need a GPU/);
}));

test("threads end when they are freed, and give their memory back", async () => {
  const once = () => withThreads(3, (limpid) => limpid.denoise(limpid.read(all["photo.png"], "photo.png"), { method: "eaw" }).then((p) => [p.free(), limpid.memory]));
  let memory;
  for (let i = 0; i < 5; i++) [, memory] = await once();
  for (let i = 0; i < 10; i++) assert.equal((await once())[1], memory);
  const limpid = await Limpid.create({ device: "cpu", threads: threads({ count: 2 }) });
  const [picture, sequence] = [limpid.read(all["large.png"], "large.png"), limpid.pictures({ method: "eaw" })];
  const last = sequence.run(picture);
  await new Promise((resolve) => setTimeout(resolve, 20));
  limpid.free();
  assert.equal((await last).width, picture.width);
  await assert.rejects(sequence.run(picture), /was freed/);
});

test("memory of many pictures stays flat", () => withThreads(2, async (limpid) => {
  const picture = limpid.read(all["render.exr"], "render.exr");
  const once = async () => (await limpid.denoise(picture, { method: "atrous" })).free();
  for (let i = 0; i < 10; i++) await once();
  const before = limpid.memory;
  for (let i = 0; i < 50; i++) await once();
  assert.equal(limpid.memory, before);
}));

/** A program of its own, that ends by itself. */
function program(text) {
  const own = `import { Limpid } from "${place(join(packageFolder, "limpid.js"))}";\nimport { threads } from "${place(join(threadsFolder, "threads.js"))}";\n`;
  const picture = "const picture = { width: 64, height: 64, color: new Float32Array(3 * 64 * 64).fill(0.5) };\n";
  return spawnSync("node", ["--input-type=module", "-e", own + picture + text], { encoding: "utf8", timeout: 60_000 });
}

test("a program ends while its threads wait", () => {
  const { status, stdout, stderr } = program(`
    const limpid = await Limpid.create({ threads: threads({ count: 2 }) });
    const { color } = await limpid.denoise(picture, { method: "eaw" });
    console.log(color.length, limpid.device.threads);`);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, "12288 2\n");
});

test("a fault in a thread ends all work with an error", () => {
  const { status, stdout, stderr } = program(`
    const limpid = await Limpid.create({ device: "cpu", threads: threads({ count: 2 }) });
    limpid.loseDevice();
    const said = (error) => console.log(error.name, error.message);
    await limpid.denoise(picture, { method: "eaw" }).catch(said);
    await limpid.denoise(picture, { method: "eaw" }).catch(said);
    await Limpid.create({ device: "cpu", threads: threads() }).catch(said);
    const alone = await Limpid.create({ device: "cpu" });
    console.log((await alone.denoise(picture, { method: "eaw" })).color.length, alone.device.threads);`);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, "RuntimeError unreachable\n".repeat(3) + "12288 1\n");
});

test("a page that is not isolated has one thread", () => {
  const { status, stdout, stderr } = program(`
    globalThis.crossOriginIsolated = false;
    const limpid = await Limpid.create({ device: "cpu", threads: threads({ count: 2 }) });
    console.log((await limpid.denoise(picture, { method: "eaw" })).color.length, limpid.device.threads);`);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, "12288 1\n");
});

test("the package with threads is small", () => {
  const [{ size }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: threadsFolder, encoding: "utf8" }));
  console.log(`npm's package with threads has ${size} bytes`);
  assert.ok(size <= MOST, `${size}`);
});
