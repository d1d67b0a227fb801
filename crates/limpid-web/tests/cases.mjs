// The methods that are tested, and how far they are from the program. Runs in Node and in browsers.

/** How far results may be from those of the program, relative where values are large. */
export const TOLERANCE = 1e-3;

/** Methods, with the file or the frames that they are for. */
export const CASES = [
  // The network that the package contains.
  { name: "neural", input: "render.exr", options: { method: "neural", quality: "fast" } },
  { name: "atrous", input: "render.exr", options: { method: "atrous" } },
  { name: "eaw", input: "photo.png", options: { method: "eaw" } },
  { name: "default for renders", input: "render.exr", options: { quality: "fast" } },
  { name: "svgf", input: "shot", options: { method: "svgf" } },
  { name: "film", input: "shot", options: { method: "film" } },
];

/** With weights that are loaded. */
export const BEST = { name: "neural best", input: "render.exr", options: { method: "neural", quality: "best" } };

const numbered = (all, start) => Object.keys(all).filter((name) => name.startsWith(start + ".") && /\.\d+\./.test(name)).sort();

/** Runs a case with the package: its results. */
async function pictures(limpid, all, { input, options }) {
  if (input !== "shot") return [await limpid.denoise(limpid.read(all[input], input), options)];
  const results = [];
  const sequence = limpid.sequence(options);
  let last;
  for (const file of numbered(all, "shot")) {
    last = limpid.read(all[file], file);
    results.push(...await sequence.push(last));
  }
  results.push(...await sequence.finish(last));
  sequence.free();
  return results;
}

/** The values of the results. */
export const results = async (...given) => (await pictures(...given)).map((picture) => picture.values());

/** Whether values are the same to the bit. */
export function same(a, b) {
  const bits = (values) => new Uint32Array(values.buffer, values.byteOffset, values.length);
  const [x, y] = [bits(a), bits(b)];
  return x.length === y.length && x.every((v, i) => v === y[i]);
}

/** Runs a case with the package; the largest difference from what the program computes on its CPU device. */
export async function difference(limpid, all, one) {
  const { name, input } = one;
  const expected = input === "shot" ? numbered(all, name) : [`${name}.exr`];
  const results = await pictures(limpid, all, one);
  if (results.length !== expected.length) throw new Error(`${results.length} results, expected ${expected.length}`);
  let most = 0;
  results.forEach((result, i) => {
    const wanted = limpid.read(all[expected[i]], expected[i]).values();
    // Files of photographs hold encoded values; the program decodes them for EXR.
    const light = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const values = result.transfer === "encoded" ? result.values().map(light) : result.values();
    if (values.length !== wanted.length) throw new Error(`${values.length} values, expected ${wanted.length}`);
    for (let k = 0; k < values.length; k++) {
      // What is not a number stays one.
      most = Math.max(most, Math.abs(values[k] - wanted[k]) / Math.max(1, Math.abs(wanted[k])));
    }
  });
  return most;
}
