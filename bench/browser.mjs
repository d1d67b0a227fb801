#!/usr/bin/env node
// Times of the package in Node and in a headless browser, beside the program's.
//
//     cargo xtask web && cargo build --release
//     node bench/browser.mjs [--sizes 640x360,1920x1080] [--gpu 640x360] [--method neural] [--quality fast] [--threads 2] [--runs 3]
//
// A Markdown table in ms for a frame: time that passed, and processor time, which other work on the machine changes less. The first is the least
// of the runs, the second their mean. Linux only. `--threads` is how many there are, beside runs on one. `--gpu` lists the sizes that WebGPU gets: headless Chromium runs it on SwiftShader, which
// computes on the CPU.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve as absolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: given } = parseArgs({ options: {
  sizes: { type: "string", default: "640x360,1920x1080" },
  gpu: { type: "string", default: "640x360" },
  method: { type: "string", default: "neural" },
  quality: { type: "string", default: "fast" },
  threads: { type: "string", default: "2" },
  runs: { type: "string", default: "3" },
  program: { type: "string", default: join(root, "target/release/limpid") },
  package: { type: "string", default: join(root, "target/browser/limpid") },
  browser: { type: "string", default: process.env.LIMPID_BROWSER ?? "chromium" },
} });
const runs = Number(given.runs);
given.program = absolute(given.program);
given.package = absolute(given.package);
const options = { method: given.method, quality: given.quality };
const folder = mkdtempSync(join(tmpdir(), "limpid-times-"));
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);
const ms = (value) => value.toFixed(0);

function limpid(...words) {
  // The shell's `times` are those of its children, which Node does not tell.
  const { status, stdout } = spawnSync("sh", ["-c", `"$@"; code=$?; times >&1; exit $code`, "sh", given.program, ...words], { encoding: "utf8", cwd: folder });
  if (status !== 0) throw new Error(`limpid ${words.join(" ")} fails`);
  const [user, system] = stdout.trim().split("\n").at(-1).split(" ").map((text) => {
    const [minutes, seconds] = text.slice(0, -1).split("m").map(Number);
    return 1000 * (60 * minutes + seconds);
  });
  return { stdout, cpu: user + system };
}

/** The program on so many threads. Reading the file and what happens once cancel out. */
function program(file, threads) {
  const bench = (count) => {
    const words = ["bench", given.method, "--quality", given.quality, "--file", file, "--device", "cpu", "--threads", threads, "--runs", count, "--json"];
    const { stdout, cpu } = limpid(...words.map(String));
    return { wall: JSON.parse(stdout.slice(0, stdout.lastIndexOf("}") + 1)).rows[0].median_ms, cpu };
  };
  const [once, more] = [bench(1), bench(1 + runs)];
  return { wall: Math.min(once.wall, more.wall), cpu: (more.cpu - once.cpu) / runs };
}

/** The package in this process; with one thread, it has no others. */
async function inNode(bytes, count) {
  const { Limpid } = await import(pathToFileURL(join(given.package, "limpid.js")));
  const threads = count > 1 ? (await import(pathToFileURL(join(given.package, "../limpid-threads/threads.js")))).threads({ count }) : undefined;
  const limpid = await Limpid.create({ device: "cpu", threads });
  const work = limpid.pictures(options);
  const picture = limpid.read(bytes, "render.exr");
  let [wall, cpu] = [Infinity, 0];
  // The first run also compiles.
  for (let i = 0; i <= runs; i++) {
    const [begin, before] = [performance.now(), process.cpuUsage()];
    (await work.run(picture)).free();
    const used = process.cpuUsage(before);
    if (i === 0) continue;
    wall = Math.min(wall, performance.now() - begin);
    cpu += (used.user + used.system) / 1000 / runs;
  }
  limpid.free();
  return { wall, cpu };
}

/** Processor time of a process and of those that it started, in ms. */
function used(pid) {
  const stats = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1).split(" ");
      return [{ pid: Number(name), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
    } catch {
      return [];
    }
  });
  const own = new Set([pid]);
  for (let size = 0; size !== own.size;) {
    size = own.size;
    for (const one of stats) if (own.has(one.parent)) own.add(one.pid);
  }
  return 10 * stats.filter((one) => own.has(one.pid)).reduce((sum, one) => sum + one.ticks, 0);
}

const PAGE = `<!doctype html><script type="module">
import { Limpid } from "/limpid/limpid.js";
const tell = (what) => fetch("/tell", { method: "POST", body: JSON.stringify(what) });
const { device, options, runs, count } = await (await fetch("/task")).json();
try {
  const threads = count > 1 ? (await import("/limpid-threads/threads.js")).threads({ count }) : undefined;
  const limpid = await Limpid.create({ device, threads });
  if ((limpid.device.threads ?? 1) !== count) throw new Error("there are no threads");
  const picture = limpid.read(await (await fetch("/render.exr")).arrayBuffer(), "render.exr");
  const work = limpid.pictures(options);
  const times = [];
  for (let i = 0; i <= runs; i++) {
    await tell({ run: i });
    const begin = performance.now();
    (await work.run(picture)).free();
    times.push(performance.now() - begin);
  }
  await tell({ end: times });
} catch (error) {
  await tell({ error: error.message });
}
</script>`;

/** The package in a browser, whose processes are all counted. */
async function inBrowser(bytes, device, count = 1) {
  const profile = mkdtempSync(join(folder, "profile-"));
  let child, first;
  const result = await new Promise((resolve, reject) => {
    const server = createServer(async (request, response) => {
      // Isolated, which threads need.
      const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
      const send = (body, type) => response.writeHead(200, { ...headers, "content-type": type }).end(body);
      const path = new URL(request.url, "http://localhost").pathname;
      if (path === "/") return send(PAGE, "text/html");
      if (path === "/task") return send(JSON.stringify({ device, options, runs, count }), "application/json");
      if (path === "/render.exr") return send(bytes, "application/octet-stream");
      if (path !== "/tell") {
        try {
          return send(readFileSync(join(dirname(given.package), path)), path.endsWith(".js") ? "text/javascript" : "application/octet-stream");
        } catch {
          return response.writeHead(404).end();
        }
      }
      let text = "";
      for await (const part of request) text += part;
      const told = JSON.parse(text);
      if (told.run === 1) first = used(child.pid);
      const cpu = used(child.pid) - first;
      send("", "text/plain");
      if (told.run !== undefined) return;
      server.close();
      if (told.error) return reject(new Error(told.error));
      const [compiled, ...times] = told.end;
      resolve({ wall: Math.min(...times), cpu: cpu / runs, compiled });
    }).listen(0, "localhost", () => {
      const flags = ["--headless=new", "--no-sandbox", "--no-first-run", "--enable-unsafe-webgpu", "--enable-features=Vulkan",
        "--use-webgpu-adapter=swiftshader", "--disable-dev-shm-usage", `--user-data-dir=${profile}`];
      child = spawn(given.browser, [...flags, `http://localhost:${server.address().port}/`], { stdio: "ignore" });
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`the browser ended (${code})`)));
    });
  }).finally(() => child.kill());
  await new Promise((ended) => (child.exitCode ?? child.signalCode) === null ? child.once("exit", ended) : ended());
  return result;
}

row("size", "where", "ms", "processor ms");
row("---", "---", "---", "---");
for (const size of given.sizes.split(",")) {
  limpid("render", "cornell", "--size", size, "--spp", "1", "-o", "render.exr", "-q");
  const bytes = readFileSync(join(folder, "render.exr"));
  const tell = (where, { wall, cpu }) => row(size, where, ms(wall), ms(cpu));
  for (const count of new Set([1, Number(given.threads)])) {
    const threads = count > 1 ? `${count} threads` : "1 thread";
    tell(`program, ${threads}`, program("render.exr", count));
    tell(`WebAssembly in Node, ${threads}`, await inNode(bytes, count));
    tell(`WebAssembly in Chromium, ${threads}`, await inBrowser(bytes, "cpu", count));
  }
  if (!given.gpu.split(",").includes(size)) continue;
  const { compiled, ...gpu } = await inBrowser(bytes, "gpu");
  tell(`WebGPU in Chromium on SwiftShader (first run ${ms(compiled)} ms)`, gpu);
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
