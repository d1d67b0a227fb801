// Everything of `limpid.d.ts`, as a program in TypeScript uses it. It is compiled, and does not run.

import { Limpid, Picture, Recorder, Sequence } from "limpid";
import { threads } from "limpid-threads";
import type { Buffer, Layers, Options, Result, Texture, Told, Values } from "limpid";

const limpid: Limpid = await Limpid.create({ device: "auto", wasm: new URL("https://example.org/limpid.wasm.lzma") });
const many: Limpid = await Limpid.create({ threads: threads({ count: 4, wasm: new Uint8Array(8) }) });
const count: number | undefined = many.device.threads;
const { kind, name }: { kind: "cpu" | "gpu"; name: string } = limpid.device;
const methods: string[] = limpid.methods().filter((m) => !m.overTime && m.quality.length > 0).map((m) => `${m.name}: ${m.about}`);

// Arrays.
const color: Values = new Float32Array(3 * 4 * 2);
const layers: Layers = { width: 4, height: 2, transfer: "linear", color, depth: [1, 2, 3, 4, 5, 6, 7, 8], "color.a": color, "light:key": color };
const stop = new AbortController();
const options: Options = { method: "auto", quality: "best", strength: 0.5, tile: 256, schedule: "full", luminance: 1, chroma: 1, signal: stop.signal,
  progress: (share: number) => console.log(share), around: 2 };
const result: Result = await limpid.denoise(layers, options);
const values: Float32Array = result.color;

// What a canvas has.
const data: ImageData = await limpid.denoise(new ImageData(4, 2), { method: "eaw" });

// Files.
const picture: Picture = limpid.read(new Uint8Array(8), "render.exr");
limpid.loadBestWeights(new ArrayBuffer(8));
const clean: Picture = await limpid.denoise(picture);
const bytes: Uint8Array = clean.blended(picture, 0.5).encode("png", { bits: 16, exposure: 1 });
clean.preview(picture, 1, 0.5, 100000).free();
const scores: Record<string, string> = clean.compare(picture);
const { toe, top } = clean.viewed();
const numbers: number = picture.width + picture.height + picture.channels("normal") + picture.values().length + toe + top + limpid.memory;
const words: string[] = [...picture.layers, ...picture.notes, picture.transfer];
picture.free();
limpid.picture(layers).free();

// Textures of a renderer on the same device.
const texture: Texture = { width: 4, height: 2, format: "rgba32float", usage: 12 };
const device = limpid.gpuDevice as object | undefined;
const textures: Recorder = limpid.textures({ color: texture, motion: texture }, texture, { method: "svgf", iterations: 3 });
textures.run();
textures.reset();
textures.free();
const buffer: Buffer = { size: 96, usage: 128 };
const buffers: Recorder = limpid.buffers({ color: buffer }, buffer, { method: "eaw", width: 4, height: 2 });
buffers.free();
const other: Limpid = await Limpid.create({ device: device! });

// Frames.
const told: Told = { signal: stop.signal };
const sequence: Sequence = limpid.sequence({ method: "film" });
const now: Result = await sequence.run(layers, told);
const ready: Result[] = await sequence.push(layers);
const rest: Picture[] = await limpid.pictures().finish(clean);
const method: string | undefined = sequence.method;
sequence.free();
limpid.free();

// Wrong uses are refused.
// @ts-expect-error a picture has a colour
await limpid.denoise({ width: 4, height: 2 });
// @ts-expect-error no such quality
await limpid.denoise(layers, { quality: "perfect" });
// @ts-expect-error threads come from their package
await Limpid.create({ threads: 4 });
// @ts-expect-error no such device
await Limpid.create({ device: "tpu" });
// @ts-expect-error buffers have no size of their own
limpid.buffers({ color: buffer }, buffer, { method: "eaw" });

export { bytes, count, data, device, kind, method, methods, name, now, numbers, other, ready, rest, scores, values, words };
