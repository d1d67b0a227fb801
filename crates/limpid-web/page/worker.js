// The work of the page, off its thread: files, denoising, and what the viewer shows.

import { Limpid } from "./limpid/limpid.js";

let limpid, wanted, best;
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
    if (options.quality === "best" && !best) {
      best = fetch(new URL("limpid/best.safetensors", import.meta.url)).then((r) => r.arrayBuffer());
      limpid.loadBestWeights(await best);
    }
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

const jobs = {
  async open({ device }) {
    const found = await gpu();
    limpid?.free();
    wanted = device;
    limpid = await Limpid.create({ device });
    return { device: limpid.device, gpu: found, methods: limpid.methods() };
  },

  async load({ files }) {
    const read = [];
    const pictures = [];
    let other = null;
    try {
      for (const { name, bytes } of files) {
        const picture = limpid.read(bytes, name);
        read.push(picture);
        if (isReference(name) && (files.length > 1 || frames.length)) other = { name, picture };
        else pictures.push({ name, picture });
      }
      if (!pictures.length && !frames.length) throw new Error("a reference came without a picture");
    } catch (error) {
      free(read);
      throw error;
    }
    if (reference) free([reference.picture]);
    // A reference on its own is for what is there.
    if (!pictures.length) pictures.push(...frames);
    else free(frames.map((f) => f.picture));
    free(results);
    pictures.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    [frames, results, reference] = [pictures, [], other];
    const first = frames[0].picture;
    return { ...show(0), frames: frames.length, layers: first.layers, notes: read.flatMap((p) => p.notes) };
  },

  async denoise(given, tell) {
    try {
      return await denoised(given, tell);
    } catch (error) {
      if (error.name !== "DeviceError" || limpid.device.kind === "cpu") throw error;
      // A driver was updated, or has crashed: a new device may work. If not, the CPU does.
      try {
        await jobs.open({ device: wanted });
        return { ...await denoised(given, tell), device: limpid.device };
      } catch (second) {
        if (second.name !== "DeviceError") throw second;
        await jobs.open({ device: "cpu" });
        return { ...await denoised(given, tell), device: limpid.device };
      }
    }
  },

  async lose() {
    limpid.loseDevice();
    return {};
  },

  async show({ frame, luminance, chroma }) {
    amounts = [luminance, chroma];
    return show(frame);
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
