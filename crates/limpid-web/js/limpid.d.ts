/** Values of a layer, channels side by side. */
export type Values = Float32Array | Float64Array | Uint8Array | number[];

/**
 * Layers of one size. `color` is needed; its values are linear light unless `transfer` says otherwise. Other layers: `color.a`,
 * `color.b`, `color.variance`, `albedo`, `normal`, `position`, `depth`, `motion`, `id`, `light:NAME`. Values of four channels, as
 * textures hold them, are taken without the fourth.
 */
export interface Layers {
  width: number;
  height: number;
  transfer?: "linear" | "encoded";
  color: Values;
  albedo?: Values;
  normal?: Values;
  position?: Values;
  depth?: Values;
  motion?: Values;
  [layer: string]: Values | number | string | undefined;
}

/** A result: `color`, and what else the method computes. */
export interface Result {
  width: number;
  height: number;
  color: Float32Array;
  [layer: string]: Float32Array | number;
}

export interface Options {
  /** `auto` (the default) chooses by the layers; `limpid.methods()` lists the others. */
  method?: string;
  quality?: "fast" | "good" | "best";
  /** How much of the change to apply, 0 … 1. */
  strength?: number;
  /** The longest side of a tile in pixels. */
  tile?: number;
  /** How the method runs on the device, such as `full` for `neural` in single precision on a GPU; the fastest that fits by default. */
  schedule?: string;
  /** How much luminance and colour noise to remove, for methods that have these options. */
  luminance?: number;
  chroma?: number;
  /** Stops the work: on a GPU between tiles, on threads at once, on the calling thread as soon as `progress` could be told. */
  signal?: AbortSignal;
  /** Told shares of the work, 0 … 1. */
  progress?: (share: number) => void;
  /** Options of the method, as `limpid denoise --help` lists them, in camelCase. */
  [option: string]: unknown;
}

/** A picture in WebAssembly's memory: its layers, and what else was in its file. */
export class Picture {
  readonly width: number;
  readonly height: number;
  readonly layers: string[];
  /** Notes on the file: choices among layers, things that are not kept. */
  readonly notes: string[];
  readonly transfer: "linear" | "encoded";
  channels(layer?: string): number;
  values(layer?: string): Float32Array;
  /** The bytes of a file: `exr`, `png`, `jpg`, `hdr`, `tif`, `pfm`. */
  encode(format: string, options?: { bits?: 8 | 16; exposure?: number }): Uint8Array;
  /** Errors against a reference, by name, as text. */
  compare(reference: Picture): Record<string, string>;
  /** This result of an input with a share, 0 … 1, of the change of luminance and of colour. */
  blended(input: Picture, luminance: number, chroma?: number): Picture;
  /** The same of at most so many pixels, evenly spaced, and of the colour only: for what follows a slider. */
  preview(input: Picture, luminance: number, chroma: number, pixels: number): Picture;
  /** Four bytes for each pixel on a logarithmic curve, `toe * (exp(byte / 255 * log(1 + top / toe)) - 1)`; sRGB where `toe` is 0. */
  viewed(): { bytes: Uint8Array; toe: number; top: number };
  /** Gives its memory back; otherwise that happens when it is collected. */
  free(): void;
}

export type Told = Pick<Options, "signal" | "progress">;

/** Frames in order, with history. Calls wait for each other. */
export class Sequence {
  /** The result for the next frame, which later frames have no part in. */
  run(input: Picture, told?: Told): Promise<Picture>;
  run(input: ImageData, told?: Told): Promise<ImageData>;
  run(input: Layers, told?: Told): Promise<Result>;
  /** Takes the next frame of a film. Gives the results that are ready: methods that look ahead give those of earlier frames. A frame that is
   * refused ends a film, whose results come with the next call. */
  push(input: Picture, told?: Told): Promise<Picture[]>;
  push(input: ImageData, told?: Told): Promise<ImageData[]>;
  push(input: Layers, told?: Told): Promise<Result[]>;
  /** Ends a film: the results that are still to come. `last` is the frame that was pushed last. */
  finish(last: Picture, told?: Told): Promise<Picture[]>;
  finish(last: ImageData, told?: Told): Promise<ImageData[]>;
  finish(last: Layers, told?: Told): Promise<Result[]>;
  /** The method of the last result, with what it measured. */
  readonly method: string | undefined;
  free(): void;
}

/** What is used of a `GPUTexture`. The types of WebGPU need not be installed. */
export interface Texture {
  readonly width: number;
  readonly height: number;
  readonly format: string;
  readonly usage: number;
}

/** What is used of a `GPUBuffer`. */
export interface Buffer {
  readonly size: number;
  readonly usage: number;
}

/** Textures or buffers by layer. */
export interface Inputs<T> {
  color: T;
  albedo?: T;
  normal?: T;
  depth?: T;
  motion?: T;
  [layer: string]: T | undefined;
}

/** A method on textures or buffers: reads the inputs and writes the output. It allocates nothing while it runs. */
export class Recorder {
  /** Submits the work for the next frame, after what was submitted to the device before. Nothing is waited for. */
  run(): void;
  /** Forgets earlier frames, after a cut. */
  reset(): void;
  free(): void;
}

/** What the package `limpid-threads` gives. */
export interface Threads {
  readonly open: (...given: never[]) => Promise<unknown>;
}

export class Limpid {
  /**
   * Loads the module and opens a device. `auto` takes a GPU through WebGPU if there is one that is not software, otherwise the
   * CPU. A `GPUDevice` of the page is used with the features and limits that it was made with. `wasm` is for bundlers: the address or the bytes of `limpid.wasm.lzma`,
   * or of what is packed in it.
   *
   * `threads` are those of the package `limpid-threads`, for the CPU: where workers may share memory, which is on isolated pages and in Node, work
   * is done on threads while the calling one goes on. Elsewhere they are left out. Pictures of a `Limpid` with threads are for such ones only.
   */
  static create(options?: {
    wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
    device?: "auto" | "cpu" | "gpu" | object;
    threads?: Threads;
  }): Promise<Limpid>;
  /** `threads` is how many the CPU computes on. */
  readonly device: { kind: "cpu" | "gpu"; name: string; threads?: number };
  /** The `GPUDevice` that it works on, for a renderer to share; undefined on the CPU. */
  readonly gpuDevice: unknown;
  /**
   * For a renderer that draws on `gpuDevice`. Textures are `rgba32float` or all `rgba16float`; inputs need the usage `TEXTURE_BINDING`, the
   * output `STORAGE_BINDING`. Options are those of the method, which is `svgf` by default.
   */
  textures(inputs: Inputs<Texture>, output: Texture, options?: { method?: string; [option: string]: unknown }): Recorder;
  /** The same with buffers of the usage `STORAGE`: single floats, the planes of a layer one after the other. */
  buffers(inputs: Inputs<Buffer>, output: Buffer, options: { width: number; height: number; method?: string; [option: string]: unknown }): Recorder;
  /** Bytes of WebAssembly's memory. It grows to what the largest picture needs, and stays there. */
  readonly memory: number;
  methods(): { name: string; about: string; overTime: boolean; quality: string[] }[];
  /** A picture of arrays or of an `ImageData`, to be encoded or compared for example. */
  picture(input: Layers | ImageData): Picture;
  /** Reads the bytes of an EXR, PNG, JPEG, HDR, TIFF, DNG or PFM file. WebP and others are for the browser's own decoders. */
  read(bytes: Uint8Array | ArrayBuffer, name?: string): Picture;
  /** Provides the larger network, `best.safetensors` of the package `limpid-weights`, which `quality: "best"` uses for renders. */
  loadBestWeights(bytes: Uint8Array | ArrayBuffer): void;
  denoise(input: Picture, options?: Options): Promise<Picture>;
  denoise(input: ImageData, options?: Options): Promise<ImageData>;
  denoise(input: Layers, options?: Options): Promise<Result>;
  /** For frames in order: history is kept from one to the next. */
  sequence(options?: Options): Sequence;
  /** For pictures one after the other with the same options. */
  pictures(options?: Options): Sequence;
  free(): void;
}
