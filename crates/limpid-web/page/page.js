// The page: what is dropped is denoised in a worker, and shown by the viewer of `limpid view`.

import { curve, draw, screen, show, state } from "./viewer.js";

const find = (selector) => document.querySelector(selector);
let worker, waiting = new Map(), next = 0;
let count = 0, loaded = false;
/** The files that are shown, however they came: a new worker reads them again. */
let kept = [];
/** What the viewer shows. */
let shown = [];

/** Asks the worker. */
function ask(job, given = {}, { transfer = [], progress } = {}) {
  return new Promise((resolve, reject) => {
    waiting.set(++next, { resolve, reject, progress });
    worker.postMessage({ id: next, job, ...given }, transfer);
  });
}

/** A worker that ended takes its module along: the next one starts afresh. */
function start() {
  worker?.terminate();
  for (const { reject } of waiting.values()) reject(new Error("the work was ended"));
  waiting = new Map();
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => {
    const asked = waiting.get(data.id);
    if (!asked) return;
    if (data.share !== undefined) return asked.progress?.(data.share);
    waiting.delete(data.id);
    if (data.error) asked.reject(Object.assign(new Error(data.error.message), { name: data.error.name }));
    else asked.resolve(data.answer);
  };
  worker.onerror = (event) => say(event.message || "the worker does not start");
}

function say(text) {
  find("#message").textContent = text;
  find("#message").hidden = !text;
}

const tried = async (work) => {
  try {
    say("");
    await work();
  } catch (error) {
    if (error.name === "AbortError") return;
    // A fault of the module itself: nothing in it can be used any more.
    const said = error.name === "RuntimeError" ? await afresh().then(() => error, (worse) => worse) : error;
    say(said.message);
  } finally {
    find("#progress").hidden = true;
  }
};

let facts;
async function open(device) {
  start();
  loaded = false;
  facts = await ask("open", { device });
  status();
  const methods = find("#method");
  if (methods.options.length === 1)
    for (const { name, about } of facts.methods) methods.add(Object.assign(new Option(name), { title: about }));
  const devices = find("#device");
  devices.replaceChildren(...["auto", "cpu", "gpu"].map((name) => new Option(name, name, false, name === device)));
  document.body.dataset.device = facts.device.kind;
}

/** Starts afresh with the picture that was there. What ended the last worker is not repeated. */
async function afresh() {
  const files = kept;
  kept = [];
  await open(find("#device").value);
  await read(files).catch(() => {});
}

function status(more = "") {
  const { kind, name, threads } = facts.device;
  const count = threads > 1 ? `${threads} threads` : facts.why ? `one thread (${facts.why})` : "one thread";
  const where = kind === "gpu" ? `on the GPU (${name})` : `on the CPU, ${count}`;
  const why = kind === "gpu" || facts.gpu ? "" : ": this browser gives the page no GPU";
  find("#status").textContent = `Runs ${where}${why}.${more}`;
}

const sliders = ["strength", "luminance", "chroma"];
const value = (name) => +find("#" + name).value;
const amounts = () => ({ luminance: value("strength") * value("luminance"), chroma: value("strength") * value("chroma") });

/** A small picture for the strip. */
function thumb(bitmap, item) {
  const canvas = document.createElement("canvas");
  const scale = Math.min(1, 240 / Math.max(bitmap.width, bitmap.height));
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const image = context.getImageData(0, 0, canvas.width, canvas.height);
  const table = curve(item).map(screen);
  for (let i = 0; i < image.data.length; i += 4)
    for (let c = 0; c < 3; c++) image.data[i + c] = table[image.data[i + c]];
  context.putImageData(image, 0, 0);
  return canvas.toDataURL("image/png");
}

const decoded = ({ bytes, width, height }) => createImageBitmap(new ImageData(new Uint8ClampedArray(bytes), width, height));

/** Gives the viewer what the worker computed. */
async function display({ items, scores }) {
  const columns = scores.length ? Object.keys(scores[0]).map((name) => ({ name, greater: /PSNR|SSIM/.test(name) })) : [];
  shown = await Promise.all(items.map(async ({ bytes, ...item }, i) => {
    const bitmap = await decoded({ bytes, ...item });
    const text = scores[i] && Object.values(scores[i]);
    return { ...item, short: item.name, decoded: bitmap, thumb: thumb(bitmap, item), text, best: text?.map(() => false),
      scores: text?.map((t) => (t === "∞" ? Infinity : +t)) };
  }));
  find("#viewer").hidden = false;
  show({ items: shown, columns });
  counted();
}

/** For tests: how often something new was shown. */
function counted() {
  document.body.dataset.shown = `${+(document.body.dataset.shown ?? 0) + 1}`;
}

const refresh = async () => display(await ask("show", { frame: value("frame"), ...amounts() }));

/** Only what the sliders change: the result, without scores and a new thumb. */
async function live() {
  const { items: [item] } = await ask("show", { frame: value("frame"), ...amounts(), live: true });
  if (!item || shown.length < 2) return;
  const { toe, top } = item;
  // Its table is that of another curve.
  Object.assign(shown[1], { toe, top, decoded: await decoded(item), table: undefined });
  draw();
  counted();
}

// Sliders move faster than pictures: the latest position wins. The rest follows when they stand still.
let moving = false, wanted = null, rest;
async function moved(work) {
  // What shows everything is not replaced by what shows less.
  wanted = wanted === refresh ? refresh : work;
  clearTimeout(rest);
  if (moving) return;
  moving = true;
  while (wanted) {
    const now = wanted;
    wanted = null;
    await tried(now);
  }
  moving = false;
  if (work === live) rest = setTimeout(() => moved(refresh), 300);
}

async function denoise() {
  if (!loaded) return;
  find("#progress").hidden = false;
  document.body.dataset.state = "working";
  await tried(async () => {
    const options = { method: find("#method").value };
    const known = facts.methods.find((m) => m.name === options.method);
    if (!known || known.quality.length) options.quality = find("#quality").value;
    const progress = (share) => { find("#progress").value = share; };
    const { seconds, method, device = facts.device } = await ask("denoise", { options }, { progress });
    facts.device = device;
    document.body.dataset.device = device.kind;
    status(` ${method}, ${seconds.toFixed(2)} s.`);
    await refresh();
    document.body.dataset.state = "done";
  });
}

/** Has the worker read files, and shows the first. Gives notes on them. */
async function read(list) {
  if (!list.length) return [];
  const files = await Promise.all(list.map(async (file) => ({ name: file.name, bytes: await file.arrayBuffer() })));
  const answer = await ask("load", { files }, { transfer: files.map((f) => f.bytes) });
  loaded = true;
  kept = answer.added ? [...kept, ...list] : list;
  count = answer.frames;
  Object.assign(find("#frame"), { max: count - 1, value: 0 });
  find("#frame-text").textContent = "1";
  find("#frame-box").hidden = count < 2;
  find("#work").hidden = false;
  await display(answer);
  return answer.notes;
}

async function load(list) {
  if (!list.length) return;
  find("#progress").hidden = false;
  find("#progress").removeAttribute("value");
  let notes = [];
  await tried(async () => {
    notes = await read([...list]);
  });
  if (!loaded || !find("#message").hidden) return;
  await denoise();
  if (notes.length && find("#message").hidden) say(notes.join("\n"));
}

async function save(format) {
  await tried(async () => {
    const { bytes, name } = await ask("save", { frame: value("frame"), format, exposure: state.exposure });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name.replace(/\.[^.]*$/, "") + "-clean." + format;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}

find("#files").onchange = (event) => load(event.target.files);
for (const name of ["dragenter", "dragover"])
  addEventListener(name, (event) => { event.preventDefault(); find("#drop").classList.add("over"); });
for (const name of ["dragleave", "drop"]) addEventListener(name, () => find("#drop").classList.remove("over"));
addEventListener("drop", (event) => { event.preventDefault(); load(event.dataTransfer.files); });
addEventListener("paste", (event) => load(event.clipboardData.files));
for (const name of [...sliders, "frame"])
  find("#" + name).oninput = () => {
    find(`#${name}-text`).textContent = name === "frame" ? value(name) + 1 : value(name);
    moved(name === "frame" ? refresh : live);
  };
find("#method").onchange = find("#quality").onchange = denoise;
find("#device").onchange = async (event) => {
  const files = kept;
  await tried(() => open(event.target.value));
  await load(files);
};
for (const button of document.querySelectorAll("[data-save]")) button.onclick = () => save(button.dataset.save);

await tried(() => open(new URLSearchParams(location.search).get("device") ?? "auto"));
document.body.dataset.open = "yes";
// For tests: the GPU is gone, or the module has failed.
document.addEventListener("lose", () => ask("lose"));
document.addEventListener("trap", () => tried(() => ask("trap")));
