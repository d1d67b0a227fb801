// A renderer on the same device: it fills textures, Limpid reads them and writes one.

const CHANNELS = { color: 3, albedo: 3, normal: 3, depth: 1, motion: 2 };

/** The frames of the shot. */
function shot(limpid, all) {
  const names = Object.keys(all).filter((name) => /^shot[.]\d+[.]exr$/.test(name)).sort();
  return names.map((name) => limpid.read(all[name], name));
}

const apart = (a, b) => Math.abs(a - b) / Math.max(1, Math.abs(a));

/** Frames through buffers of planes, and as arrays; the largest difference. */
export async function buffers(limpid, all) {
  const gpu = limpid.gpuDevice;
  const pictures = shot(limpid, all);
  const { width, height } = pictures[0];
  const pixels = width * height;
  const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
  const buffer = (channels, usage) => gpu.createBuffer({ size: 4 * channels * pixels, usage });
  const inputs = Object.fromEntries(Object.entries(CHANNELS).map(([layer, channels]) => [layer, buffer(channels, STORAGE | COPY_DST)]));
  const output = buffer(3, STORAGE | COPY_SRC);
  const work = limpid.buffers(inputs, output, { method: "svgf", width, height });
  const sequence = limpid.sequence({ method: "svgf" });
  let most = 0;
  for (const picture of pictures) {
    const layers = { width, height };
    for (const [layer, channels] of Object.entries(CHANNELS)) {
      layers[layer] = picture.values(layer);
      const planes = Float32Array.from({ length: channels * pixels }, (_, i) => layers[layer][channels * (i % pixels) + Math.floor(i / pixels)]);
      gpu.queue.writeBuffer(inputs[layer], 0, planes);
    }
    work.run();
    const back = buffer(3, COPY_DST | MAP_READ);
    const encoder = gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(output, 0, back, 0, back.size);
    gpu.queue.submit([encoder.finish()]);
    await back.mapAsync(GPUMapMode.READ);
    const made = new Float32Array(back.getMappedRange());
    const { color } = await sequence.run(layers);
    color.forEach((v, i) => { most = Math.max(most, apart(v, made[(i % 3) * pixels + Math.floor(i / 3)])); });
    back.destroy();
  }
  work.free();
  sequence.free();
  return most;
}

/** Frames through textures, and as arrays; the largest difference. */
export async function textures(limpid, all) {
  const gpu = limpid.gpuDevice;
  const pictures = shot(limpid, all);
  const { width, height } = pictures[0];
  const texture = (usage) => gpu.createTexture({ size: [width, height], format: "rgba32float", usage });
  const inputs = Object.fromEntries(Object.keys(CHANNELS).map((layer) => [layer, texture(GPUTextureUsage.COPY_DST | GPUTextureUsage.TEXTURE_BINDING)]));
  const output = texture(GPUTextureUsage.COPY_SRC | GPUTextureUsage.STORAGE_BINDING);
  const work = limpid.textures(inputs, output, { method: "svgf" });
  const sequence = limpid.sequence({ method: "svgf" });
  let most = 0;
  for (const picture of pictures) {
    const layers = { width, height };
    for (const [layer, channels] of Object.entries(CHANNELS)) {
      layers[layer] = picture.values(layer);
      const wide = Float32Array.from({ length: 4 * width * height }, (_, i) => (i % 4 < channels ? layers[layer][channels * (i >> 2) + (i % 4)] : 0));
      gpu.queue.writeTexture({ texture: inputs[layer] }, wide, { bytesPerRow: 16 * width }, [width, height]);
    }
    work.run();
    const made = await values(gpu, output, width, height);
    const { color } = await sequence.run(layers);
    color.forEach((v, i) => { most = Math.max(most, apart(v, made[4 * Math.floor(i / 3) + (i % 3)])); });
  }
  work.free();
  sequence.free();
  return most;
}

/** The four channels of a texture. Rows of copies begin at multiples of 256 bytes. */
export async function values(gpu, texture, width, height) {
  const bytesPerRow = Math.ceil((16 * width) / 256) * 256;
  const buffer = gpu.createBuffer({ size: bytesPerRow * height, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = gpu.createCommandEncoder();
  encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow }, [width, height]);
  gpu.queue.submit([encoder.finish()]);
  await buffer.mapAsync(GPUMapMode.READ);
  const rows = new Float32Array(buffer.getMappedRange());
  const made = new Float32Array(4 * width * height);
  for (let y = 0; y < height; y++) made.set(rows.subarray((y * bytesPerRow) / 4, (y * bytesPerRow) / 4 + 4 * width), 4 * width * y);
  buffer.destroy();
  return made;
}
