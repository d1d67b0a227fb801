// The tests that run in the browser, on a page that is isolated. Its thread must not wait, and does not.

import { Limpid } from "/limpid/limpid.js";
import { threads } from "/limpid-threads/threads.js";
import { CASES, difference, results, same } from "./cases.mjs";
import { check, files, tell } from "./check.mjs";

const all = await files();
let alone, limpid;

await check("threads open", async () => {
  alone = await Limpid.create({ device: "cpu" });
  limpid = await Limpid.create({ device: "cpu", threads: threads({ count: 2 }) });
  return [crossOriginIsolated, alone.device.threads, limpid.device.threads];
});
for (const one of CASES) await check(`threads ${one.name}`, async () => {
  const [many, single] = [await results(limpid, all, one), await results(alone, all, one)];
  return [many.length === single.length && many.every((values, i) => same(values, single[i])), await difference(limpid, all, one)];
});
await check("threads leave the page free", async () => {
  const picture = limpid.read(all["large.png"], "large.png");
  const work = (told) => limpid.denoise(picture, { method: "nlm", sigma: 0.1, ...told });
  let [turns, shares, longest] = [0, 0, 0];
  let last = performance.now();
  const clock = setInterval(() => {
    const now = performance.now();
    [turns, longest, last] = [turns + 1, Math.max(longest, now - last), now];
  });
  const begin = performance.now();
  (await work({ progress: () => { shares++; } })).free();
  const took = performance.now() - begin;
  clearInterval(clock);
  const stop = new AbortController();
  const stopped = work({ signal: stop.signal }).catch((error) => [error.name, performance.now()]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const asked = performance.now();
  stop.abort();
  const [name, ended] = await stopped;
  picture.free();
  return { took, turns, shares, longest, name, seconds: (ended - asked) / 1000 };
});
await check("threads memory", async () => {
  const picture = { width: 32, height: 20, transfer: "encoded", color: new Float32Array(3 * 32 * 20).fill(0.5) };
  const pictures = limpid.pictures({ method: "nlm", sigma: 0.1 });
  for (let i = 0; i < 5; i++) await pictures.run(picture);
  const before = limpid.memory;
  for (let i = 0; i < 50; i++) await pictures.run(picture);
  return [before, limpid.memory];
});
await check("threads end", async () => {
  limpid.free();
  limpid = await Limpid.create({ device: "cpu", threads: threads({ count: 3 }) });
  return [limpid.device.threads, await difference(limpid, all, CASES[1])];
});
await check("threads fail", async () => {
  limpid.loseDevice();
  const said = (error) => `${error.name}: ${error.message}`;
  const picture = { width: 32, height: 20, color: new Float32Array(3 * 32 * 20).fill(0.5) };
  const first = await limpid.denoise(picture, { method: "eaw" }).catch(said);
  const second = await Limpid.create({ device: "cpu", threads: threads() }).catch(said);
  return [first, second, (await alone.denoise(picture, { method: "eaw" })).width];
});

const frame = document.getElementById("page");
const inside = () => frame.contentDocument;
const until = async (what, seconds = 60) => {
  for (const end = performance.now() + 1000 * seconds; performance.now() < end;) {
    if (what()) return;
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  throw new Error(`waited for ${what}; the page says: ${inside().querySelector("#message")?.textContent}`);
};
await check("page with threads", async () => {
  frame.src = "/index.html?device=cpu";
  await until(() => inside()?.body?.dataset.open === "yes");
  const status = () => inside().querySelector("#status").textContent;
  const opened = status();
  const { DataTransfer, DragEvent, File } = frame.contentWindow;
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([all["render.exr"]], "render.exr"));
  inside().querySelector("#drop").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
  await until(() => inside().body.dataset.state === "done");
  return [opened, status(), navigator.hardwareConcurrency];
});
await tell("end", {});
