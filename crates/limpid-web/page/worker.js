// The work of the page, off its thread: files, denoising, and what the viewer shows.

import { Limpid } from "./limpid/limpid.js";

/** Pixels of what follows a slider, which takes 50 ms at most. Everything else follows when it stands still. */
const LIVE_PIXELS = 200_000;

let limpid, wanted, best = false;
let [frames, results, reference] = [[], [], null];
let amounts = [1, 1];
let asked = 0;

/** Whether this machine has a GPU for the page. */
async function gpu() {
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  return Boolean(adapter) && !adapter.info?.isFallbackAdapter;
}

const free = (all) => all.forEach((picture) => picture.free());
const isReference = (name) => /(^|[^a-z])(reference|ref|gt|ground.?truth)([^a-z]|$)/i.test(name);

/** What the browser decodes itself. */
async function decoded(bytes, name) {
  const bitmap = await createImageBitmap(new Blob([bytes])).catch(() => { throw new Error(`${name}: corrupt WebP file`); });
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  return limpid.picture(context.getImageData(0, 0, width, height));
}

const isWebp = (bytes) => String.fromCharCode(...new Uint8Array(bytes.slice(8, 12))) === "WEBP";

/** A picture for the viewer. */
function view(picture, name) {
  const { width, height } = picture;
  const { bytes, toe, top } = picture.viewed();
  return { name, width, height, toe, top, bytes: bytes.buffer };
}

const blended = (i) => results[i].blended(frames[i].picture, ...amounts);

/** The frame of this number: input, result if there is one, reference. */
function show(i) {
  const items = [view(frames[i].picture, frames[i].name)];
  const scores = [];
  if (results[i]) {
    const result = blended(i);
    items.push(view(result, "denoised"));
    if (reference) {
      const apart = [frames[i].picture, result].map((p) => p.compare(reference.picture));
      scores.push(...apart);
    }
    result.free();
  }
  if (reference) items.push(view(reference.picture, reference.name));
  return { items, scores, transfer: items.map((item) => item.bytes) };
}

async function denoised({ options, run }, tell) {
  // A newer request goes first.
  const check = () => {
    if (run !== asked) throw new DOMException("a newer request", "AbortError");
  };
  check();
  const sequence = frames.length > 1 ? limpid.sequence(options) : limpid.pictures(options);
  const begin = performance.now();
  const made = [];
  try {
    for (const [i, { picture }] of frames.entries()) {
      const progress = (share) => tell((i + share) / frames.length);
      if (frames.length > 1) made.push(...await sequence.push(picture, { progress }));
      else made.push(await sequence.run(picture, { progress }));
      // Lets messages in.
      await new Promise((resolve) => setTimeout(resolve));
      check();
    }
    if (frames.length > 1) made.push(...await sequence.finish(frames.at(-1).picture));
    const seconds = (performance.now() - begin) / 1000;
    free(results);
    results = made.splice(0);
    return { seconds, method: sequence.method };
  } finally {
    free(made);
    sequence.free();
  }
}

/** The larger network. Only some pictures need it; where it could not be fetched, the next request tries again. */
async function larger() {
  const why = (reason) => new Error(`the larger network (best.safetensors) could not be loaded: ${reason}`);
  const answer = await fetch(new URL("limpid-weights/best.safetensors", import.meta.url)).catch((error) => { throw why(error.message); });
  if (!answer.ok) throw why(`the server says ${answer.status}`);
  limpid.loadBestWeights(await answer.arrayBuffer());
  best = true;
}

async function supported(given, tell) {
  try {
    return await denoised(given, tell);
  } catch (error) {
    if (error.name !== "UnsupportedError" || given.options.quality !== "best" || best) throw error;
    await larger();
    return denoised(given, tell);
  }
}

/** Limpid on a device, with threads where they can be had, and why not otherwise. */
async function created(device) {
  if (!crossOriginIsolated) return [await Limpid.create({ device }), "this page is not isolated"];
  try {
    const { threads } = await import("./limpid-threads/threads.js");
    return [await Limpid.create({ device, threads: threads() })];
  } catch (error) {
    return [await Limpid.create({ device }), error.message];
  }
}

const jobs = {
  async open({ device, alone = false }) {
    const found = await gpu();
    const [opened, why] = alone ? [await Limpid.create({ device })] : await created(device);
    limpid?.free();
    [limpid, wanted] = [opened, device];
    return { device: limpid.device, why, gpu: found, methods: limpid.methods() };
  },

  async load({ files }) {
    const read = [];
    const pictures = [];
    let other = null;
    try {
      for (const { name, bytes } of files) {
        const picture = isWebp(bytes) ? await decoded(bytes, name) : limpid.read(bytes, name);
        read.push(picture);
        if (!isReference(name) || (files.length === 1 && !frames.length)) pictures.push({ name, picture });
        else {
          if (other) free(read.splice(read.indexOf(other.picture), 1));
          other = { name, picture };
        }
      }
      if (!pictures.length && !frames.length) throw new Error("a reference came without a picture");
    } catch (error) {
      free(read);
      throw error;
    }
    const notes = read.flatMap((picture) => picture.notes);
    if (reference) free([reference.picture]);
    // A reference on its own is for what is there.
    const added = !pictures.length;
    if (added) pictures.push(...frames);
    else free(frames.map((f) => f.picture));
    free(results);
    pictures.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    [frames, results, reference] = [pictures, [], other];
    const first = frames[0].picture;
    return { ...show(0), added, frames: frames.length, layers: first.layers, notes };
  },

  async denoise(given, tell) {
    try {
      return await supported(given, tell);
    } catch (error) {
      if (error.name !== "DeviceError" || limpid.device.kind === "cpu") throw error;
      // A driver was updated, or has crashed: a new device may work. If not, the CPU does.
      try {
        await jobs.open({ device: wanted, alone: true });
        return { ...await supported(given, tell), device: limpid.device };
      } catch (second) {
        if (second.name !== "DeviceError") throw second;
        // The pictures are in the memory of the module that has no threads.
        await jobs.open({ device: "cpu", alone: true });
        return { ...await supported(given, tell), device: limpid.device };
      }
    }
  },

  async lose() {
    limpid.loseDevice();
    return {};
  },

  async trap() {
    throw new WebAssembly.RuntimeError("unreachable");
  },

  async show({ frame, luminance, chroma, live }) {
    amounts = [luminance, chroma];
    if (!live) return show(frame);
    const result = results[frame]?.preview(frames[frame].picture, ...amounts, LIVE_PIXELS);
    const items = result ? [view(result, "denoised")] : [];
    result?.free();
    return { items, transfer: items.map((item) => item.bytes) };
  },

  async save({ frame, format, exposure }) {
    const result = results[frame] ? blended(frame) : null;
    try {
      const bytes = (result ?? frames[frame].picture).encode(format, { exposure });
      return { bytes, name: frames[frame].name, transfer: [bytes.buffer] };
    } finally {
      result?.free();
    }
  },

  async memory() {
    return { bytes: limpid.memory };
  },
};

let last = Promise.resolve();
onmessage = ({ data }) => {
  if (data.job === "denoise") data.run = ++asked;
  last = last.then(async () => {
    const tell = (share) => postMessage({ id: data.id, share });
    try {
      const { transfer = [], ...answer } = await jobs[data.job](data, tell);
      postMessage({ id: data.id, answer }, transfer);
    } catch (error) {
      postMessage({ id: data.id, error: { name: error.name, message: error.message } });
    }
  });
};
