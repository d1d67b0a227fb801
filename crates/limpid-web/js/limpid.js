// Limpid for JavaScript: removes noise from renders, photographs and sequences. Nothing leaves the machine.

import load, { Device, Engine, Picture as Pictured, Recorder as Recording, Settings, installBestWeights, memoryBytes, methods } from "./limpid_web.js";
import { unpack } from "./unpack.js";

/** Channels of a layer that come as plain values. */
const CHANNELS = { color: 3, albedo: 3, normal: 3, position: 3, depth: 1, alpha: 1, motion: 2, id: 1, visibility: 1, dx: 3, dy: 3 };
const NOT_LAYERS = ["width", "height", "channels", "transfer"];
const NOT_OPTIONS = ["method", "strength", "tile", "schedule", "signal", "progress"];

/** The module of this package. That of `limpid-threads` has the same, except recorders. */
const own = {
  Picture: Pictured, Recorder: Recording, Settings, installBestWeights, memoryBytes, methods,
  engine: (device, method, settings) => new Engine(device, method, settings),
};

let module;

/** What was given for the module, as bytes. Node has no fetch for files. */
async function bytesOf(given) {
  if (given instanceof URL || typeof given === "string") {
    if (String(given).startsWith("file:") && typeof process !== "undefined") {
      const { readFile } = await import("node:fs/promises");
      return readFile(new URL(given));
    }
    given = await fetch(given);
  }
  if (typeof Response !== "undefined" && given instanceof Response) {
    if (!given.ok) throw new Error(`${given.url} could not be loaded: the server says ${given.status}`);
    given = await given.arrayBuffer();
  }
  return ArrayBuffer.isView(given) ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(given);
}

/** The module, which the package has packed. */
async function moduleOf(given) {
  if (given instanceof WebAssembly.Module) return given;
  const bytes = await bytesOf(given);
  const plain = ["\0", "a", "s", "m"].every((c, i) => bytes[i] === c.charCodeAt(0));
  return plain ? bytes : unpack(bytes);
}

/** Loads the module once; where that failed, once more. */
async function loaded(wasm) {
  wasm ??= new URL("limpid.wasm.lzma", import.meta.url);
  module ??= moduleOf(wasm).then((module_or_path) => load({ module_or_path }));
  try {
    return await module;
  } catch (error) {
    module = undefined;
    throw error;
  }
}

/** A picture: its layers, and what else was in its file. Its memory is given back by `free()`, or when it is collected. */
export class Picture {
  constructor(inner) {
    this.inner = inner;
  }
  get width() { return this.inner.width; }
  get height() { return this.inner.height; }
  get layers() { return this.inner.layers; }
  get notes() { return this.inner.notes; }
  get transfer() { return this.inner.encoded ? "encoded" : "linear"; }
  channels(layer = "color") { return this.inner.channels(layer); }
  /** The values of a layer, channels side by side. */
  values(layer = "color") { return this.inner.get(layer); }
  /** The bytes of a file. */
  encode(format, { bits = 0, exposure = 0 } = {}) { return this.inner.encode(format, bits, exposure); }
  /** Errors against a reference, by name. */
  compare(reference) { return Object.fromEntries(JSON.parse(this.inner.compare(reference.inner))); }
  /** What the viewer shows: four bytes for each pixel on a curve. */
  viewed() {
    const bytes = this.inner.viewed();
    const [toe, top] = this.inner.curve;
    return { bytes, toe, top };
  }
  /** This result of an input with a share of the change of luminance and of colour. */
  blended(input, luminance, chroma = luminance) { return new Picture(this.inner.blended(input.inner, luminance, chroma)); }
  /** The same of at most so many pixels, and of the colour only. */
  preview(input, luminance, chroma, pixels) { return new Picture(this.inner.preview(input.inner, luminance, chroma, pixels)); }
  free() { this.inner.free(); }
}

const isImageData = (input) => typeof ImageData !== "undefined" && input instanceof ImageData;

/** The layers of an object of arrays, or the pixels of an ImageData, as a picture in the memory of a module. */
function pictureOf({ Picture: Inner }, input) {
  if (input instanceof Picture) {
    if (input.inner instanceof Inner) return input.inner;
    throw new TypeError("this picture is in another memory: it was made by a Limpid with threads, or by one without");
  }
  if (isImageData(input)) {
    const { width, height, data } = input;
    const inner = new Inner(width, height, true);
    const color = new Float32Array(3 * width * height);
    for (let i = 0, o = 0; i < data.length; i += 4) {
      color[o++] = data[i] / 255;
      color[o++] = data[i + 1] / 255;
      color[o++] = data[i + 2] / 255;
    }
    inner.set("color", 3, color);
    return inner;
  }
  const { width, height, transfer = "linear" } = input;
  if (!Number.isInteger(width) || !Number.isInteger(height)) {
    throw new TypeError("a picture needs a width and a height");
  }
  const inner = new Inner(width, height, transfer === "encoded");
  try {
    for (const [layer, values] of Object.entries(input)) {
      if (NOT_LAYERS.includes(layer) || values == null) continue;
      const kind = layer.split(".")[0];
      // What textures hold: four channels, of which layers need fewer.
      const found = values.length / (width * height);
      const most = CHANNELS[kind] ?? 3;
      const exact = found <= most ? values : firstChannels(values, found, most);
      inner.set(layer, Math.min(found, most), exact instanceof Float32Array ? exact : Float32Array.from(exact));
    }
  } catch (error) {
    inner.free();
    throw error;
  }
  return inner;
}

function firstChannels(values, from, to) {
  if (!Number.isInteger(from)) throw new TypeError(`${values.length} values are not a whole number of channels`);
  const out = new Float32Array((values.length / from) * to);
  for (let i = 0, o = 0; i < values.length; i += from) {
    for (let c = 0; c < to; c++) out[o++] = values[i + c];
  }
  return out;
}

/** A result in the form of the input. */
function resultOf(made, input) {
  if (input instanceof Picture) return new Picture(made);
  const { width, height } = made;
  try {
    if (isImageData(input)) {
      const out = new ImageData(width, height);
      const color = made.get("color");
      for (let i = 0, o = 0; i < out.data.length; i += 4) {
        out.data[i] = Math.round(255 * color[o++]);
        out.data[i + 1] = Math.round(255 * color[o++]);
        out.data[i + 2] = Math.round(255 * color[o++]);
        out.data[i + 3] = input.data[i + 3];
      }
      return out;
    }
    const out = { width, height };
    for (const layer of made.layers) out[layer] = made.get(layer);
    return out;
  } finally {
    made.free();
  }
}

/** Options of a method, in its own spelling. */
function setAll(settings, options) {
  for (const [name, value] of Object.entries(options)) {
    if (NOT_OPTIONS.includes(name) || value === undefined) continue;
    settings.set(name.replace(/[A-Z]/g, (c) => "-" + c.toLowerCase()), String(value));
  }
}

/** A method on textures or buffers of the page: `run` reads the inputs and writes the output, frame by frame, with history. */
export class Recorder {
  #inner;

  constructor(kind, api, device, { color, ...others }, output, { method = "svgf", width, height, ...options }) {
    if (!api.Recorder) throw Object.assign(new Error("textures and buffers need a GPU; this is the CPU"), { name: "UnsupportedError" });
    const settings = new api.Settings();
    try {
      setAll(settings, options);
      const present = Object.entries(others).filter(([, given]) => given != null);
      const inputs = [["color", ...present.map(([layer]) => layer)], [color, ...present.map(([, given]) => given)]];
      if (width && height) settings.extent(width, height);
      this.#inner = api.Recorder[kind](device, method, settings, ...inputs, output);
    } finally {
      settings.free();
    }
  }

  /** Submits the work for the next frame, after what was submitted to the device before. Nothing is waited for. */
  run() { this.#inner.run(); }
  /** Forgets earlier frames, after a cut. */
  reset() { this.#inner.reset(); }
  free() { this.#inner.free(); }
}

/** Frames of a sequence in order, with history. One frame at a time: calls wait for each other. */
export class Sequence {
  #api;
  #device;
  #options;
  #engine;
  #last = Promise.resolve();

  constructor(api, device, options, frames) {
    this.#api = api;
    this.#device = device;
    this.#options = { ...options };
    this.frames = frames;
  }

  /** The result for the next frame, which later frames have no part in. */
  run(input, told) {
    return this.#next(input, told, async (inner, tell) => resultOf(await this.#engine.run(inner, tell), input));
  }

  /** Takes the next frame of a film. Gives the results that are ready: methods that look ahead give those of earlier frames. */
  push(input, told) {
    return this.#next(input, told, async (inner, tell) => {
      const made = await this.#engine.push(inner, tell);
      return made.map((one) => resultOf(one, input));
    });
  }

  /** Ends a film: the results that are still to come. `last` is the frame that was pushed last. */
  finish(last, told) {
    return this.#next(last, told, async (inner, tell) => {
      const made = await this.#engine.finish(inner, tell);
      return made.map((one) => resultOf(one, last));
    });
  }

  /** Calls wait for each other. */
  #next(input, { signal = this.#options.signal, progress = this.#options.progress } = {}, work) {
    const next = this.#last.then(() => this.#do(input, signal, progress, work));
    this.#last = next.catch(() => {});
    return next;
  }

  async #do(input, signal, progress, work) {
    signal?.throwIfAborted();
    const inner = pictureOf(this.#api, input);
    // Threads are stopped at once; what computes on this thread asks `tell`.
    const stop = () => this.#engine?.stop?.();
    try {
      this.#engine ??= this.#prepare(inner);
      signal?.addEventListener("abort", stop);
      const tell = signal || progress ? (share) => (progress?.(share), !signal?.aborted) : undefined;
      return await work(inner, tell);
    } catch (error) {
      if (error.name === "AbortError") signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      if (!(input instanceof Picture)) inner.free();
    }
  }

  #prepare(inner) {
    const { method = "auto", strength, tile, schedule, ...rest } = this.#options;
    const settings = new this.#api.Settings();
    try {
      settings.kind(this.frames, !inner.encoded);
      if (strength !== undefined) settings.strength(strength);
      if (tile !== undefined) settings.tile(tile);
      if (schedule !== undefined) settings.schedule(schedule);
      setAll(settings, rest);
      return this.#api.engine(this.#device, method, settings);
    } finally {
      settings.free();
    }
  }

  /** The method of the last result, with what it measured. */
  get method() { return this.#engine?.method; }

  free() {
    this.#engine?.free();
    this.#engine = undefined;
  }
}

/** Whether workers may share memory: in browsers, those of isolated pages. */
const sharesMemory = () => typeof SharedArrayBuffer === "function" && globalThis.crossOriginIsolated !== false;

/** Whether there is a GPU that `auto` takes. */
async function hasGpu() {
  const adapter = await globalThis.navigator?.gpu?.requestAdapter().catch(() => null);
  return Boolean(adapter) && !adapter.info?.isFallbackAdapter;
}

export class Limpid {
  #api;
  #device;

  constructor(api, device) {
    this.#api = api;
    this.#device = device;
  }

  /** Loads the module and opens a device: `auto`, `cpu`, `gpu`, or a `GPUDevice` of the page. `threads` of `limpid-threads` are for the CPU. */
  static async create({ wasm, device = "auto", threads } = {}) {
    if (threads && sharesMemory() && (device === "cpu" || (device === "auto" && !(await hasGpu())))) {
      const api = await threads.open(moduleOf);
      return new Limpid(api, api.device);
    }
    await loaded(wasm);
    return new Limpid(own, await (typeof device === "string" ? Device.open(device) : Device.adopt(device)));
  }

  /** Where it runs: `kind` is `cpu` or `gpu`, and `threads` how many the CPU computes on. */
  get device() {
    const { kind, name, threads = 1 } = this.#device;
    return kind === "cpu" ? { kind, name, threads } : { kind, name };
  }

  /** The `GPUDevice` that it works on, for a renderer to share; undefined on the CPU. */
  get gpuDevice() { return this.#device.handle; }

  /** Bytes of WebAssembly's memory. */
  get memory() { return this.#api.memoryBytes(); }

  /** The methods, with what they are for. */
  methods() { return JSON.parse(this.#api.methods()); }

  /** Reads the bytes of a file. Its name is for messages. */
  read(bytes, name = "picture") {
    return new Picture(this.#api.Picture.decode(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes), name));
  }

  /** A picture of arrays or of an `ImageData`. */
  picture(input) { return new Picture(pictureOf(this.#api, input)); }

  /** Provides the larger network, for `quality: "best"` of renders. */
  loadBestWeights(bytes) { this.#api.installBestWeights(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)); }

  /** Removes the noise of one picture. The result has the form of the input. */
  async denoise(input, options = {}) {
    const sequence = new Sequence(this.#api, this.#device, options, false);
    try {
      return await sequence.run(input);
    } finally {
      sequence.free();
    }
  }

  /** For frames in order: history is kept from one to the next. */
  sequence(options = {}) { return new Sequence(this.#api, this.#device, options, true); }

  /** For pictures one after the other with the same options: shaders and memory are kept while their shape stays the same. */
  pictures(options = {}) { return new Sequence(this.#api, this.#device, options, false); }

  /** For a renderer that draws on `gpuDevice`: reads textures by layer and writes one. */
  textures(inputs, output, options = {}) { return new Recorder("textures", this.#api, this.#device, inputs, output, options); }

  /** The same with buffers of floats: planes one after the other. Options are `width`, `height` and those of the method. */
  buffers(inputs, output, options) { return new Recorder("buffers", this.#api, this.#device, inputs, output, options); }

  /** For tests: the GPU is gone, as after an update of its driver. */
  loseDevice() { this.#device.lose(); }

  free() { this.#device.free(); }
}
