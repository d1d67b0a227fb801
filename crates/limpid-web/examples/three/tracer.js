// A path tracer of a few spheres, one path for each pixel and frame, drawn by three.js on WebGPU. Limpid denoises its render targets on the
// same device: nothing is copied to the CPU.

import { FloatType, Matrix4, NearestFilter, NodeMaterial, PerspectiveCamera, QuadMesh, RenderTarget, StorageTexture, Vector2, Vector3, WebGPURenderer } from "three/webgpu";
import { ivec2, screenCoordinate, texture, textureLoad, uniform, vec4, wgsl, wgslFn } from "three/tsl";
import { Limpid } from "limpid";

const SCENE = wgsl(`
struct Surface { distance: f32, normal: vec3<f32>, albedo: vec3<f32>, light: vec3<f32> }

fn nothing() -> Surface { return Surface(1e9, vec3(0.0), vec3(0.0), vec3(0.0)); }

fn sphere(best: Surface, eye: vec3<f32>, ray: vec3<f32>, centre: vec3<f32>, radius: f32, albedo: vec3<f32>, light: vec3<f32>) -> Surface {
  let to = eye - centre;
  let b = dot(to, ray);
  let inside = b * b - dot(to, to) + radius * radius;
  if (inside < 0.0) { return best; }
  let distance = -b - sqrt(inside);
  if (distance < 1e-3 || distance > best.distance) { return best; }
  return Surface(distance, normalize(to + distance * ray), albedo, light);
}

fn first(eye: vec3<f32>, ray: vec3<f32>) -> Surface {
  var best = nothing();
  if (ray.y < 0.0 && eye.y > 0.0) {
    let distance = -eye.y / ray.y;
    let at = eye + distance * ray;
    let tile = (i32(floor(at.x)) + i32(floor(at.z))) & 1;
    best = Surface(distance, vec3(0.0, 1.0, 0.0), vec3(select(0.35, 0.7, tile == 0)), vec3(0.0));
  }
  best = sphere(best, eye, ray, vec3(0.0, 0.7, 0.0), 0.7, vec3(0.8, 0.25, 0.2), vec3(0.0));
  best = sphere(best, eye, ray, vec3(-1.6, 0.5, 0.4), 0.5, vec3(0.25, 0.6, 0.3), vec3(0.0));
  best = sphere(best, eye, ray, vec3(1.5, 0.4, 0.6), 0.4, vec3(0.3, 0.4, 0.8), vec3(0.0));
  return sphere(best, eye, ray, vec3(0.5, 4.0, 1.0), 1.2, vec3(0.0), vec3(8.0));
}

fn ray_of(at: vec2<f32>, size: vec2<f32>, eye: vec3<f32>, to_world: mat4x4<f32>) -> vec3<f32> {
  let far = to_world * vec4((at / size * 2.0 - 1.0) * vec2(1.0, -1.0), 1.0, 1.0);
  return normalize(far.xyz / far.w - eye);
}

fn random(state: ptr<function, u32>) -> f32 {
  *state = *state * 747796405u + 2891336453u;
  var word = ((*state >> ((*state >> 28u) + 4u)) ^ *state) * 277803737u;
  word = (word >> 22u) ^ word;
  return f32(word >> 8u) / 16777216.0;
}
`);

const VIEW = "at: vec2<f32>, size: vec2<f32>, eye: vec3<f32>, to_world: mat4x4<f32>";
const FIRST = "let ray = ray_of(at, size, eye, to_world); let seen = first(eye, ray); let hit = seen.distance < 1e8;";

/** What each render target holds: the layers that Limpid reads. */
const LAYERS = {
  color: wgslFn(`fn color(${VIEW}, seed: f32) -> vec4<f32> {
    var state = u32(at.x) * 1973u + u32(at.y) * 9277u + u32(seed) * 26699u;
    _ = random(&state);
    var origin = eye;
    var ray = ray_of(at, size, eye, to_world);
    var share = vec3(1.0);
    var light = vec3(0.0);
    for (var bounce = 0; bounce < 4; bounce++) {
      let seen = first(origin, ray);
      if (seen.distance > 1e8) {
        light += share * vec3(0.15, 0.18, 0.25);
        break;
      }
      light += share * seen.light;
      share *= seen.albedo;
      origin += seen.distance * ray + 1e-3 * seen.normal;
      let z = 2.0 * random(&state) - 1.0;
      let angle = 6.2831853 * random(&state);
      let r = sqrt(1.0 - z * z);
      ray = normalize(seen.normal * 1.0001 + vec3(r * cos(angle), r * sin(angle), z));
    }
    return vec4(light, 1.0);
  }`, [SCENE]),
  albedo: wgslFn(`fn albedo(${VIEW}) -> vec4<f32> { ${FIRST} return vec4(seen.albedo, 1.0); }`, [SCENE]),
  normal: wgslFn(`fn normal(${VIEW}) -> vec4<f32> { ${FIRST} return vec4(seen.normal, 1.0); }`, [SCENE]),
  depth: wgslFn(`fn depth(${VIEW}) -> vec4<f32> { ${FIRST} return vec4(select(0.0, seen.distance, hit), 0.0, 0.0, 1.0); }`, [SCENE]),
  // Where the point was in the frame before, minus where it is: pixels, y down.
  motion: wgslFn(`fn motion(${VIEW}, before: mat4x4<f32>) -> vec4<f32> { ${FIRST}
    let then = before * vec4(eye + min(seen.distance, 1e4) * ray, 1.0);
    return vec4((then.xy / then.w * vec2(1.0, -1.0) + 1.0) / 2.0 * size - at, 0.0, 1.0);
  }`, [SCENE]),
};

/** Opens a GPU that three.js and Limpid share. `frame` renders and denoises, `show` draws the result or what it was made of. */
export async function start(canvas, { width, height, method = "svgf" }) {
  const limpid = await Limpid.create({ device: "gpu" });
  const renderer = new WebGPURenderer({ canvas, device: limpid.gpuDevice });
  renderer.setSize(width, height, false);
  await renderer.init();

  const camera = new PerspectiveCamera(50, width / height, 0.1, 100);
  camera.coordinateSystem = renderer.coordinateSystem;
  camera.position.set(0, 2, 4);
  const view = { at: screenCoordinate.xy, size: uniform(new Vector2(width, height)), eye: uniform(new Vector3()), to_world: uniform(new Matrix4()) };
  const seed = uniform(0);
  const before = uniform(new Matrix4());

  const quad = (node) => {
    const material = new NodeMaterial();
    material.fragmentNode = node;
    return new QuadMesh(material);
  };
  const target = () => new RenderTarget(width, height, { type: FloatType, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false });
  const layers = Object.entries(LAYERS).map(([name, node]) => ({ name, target: target(), quad: quad(node({ ...view, seed, before })) }));
  const result = Object.assign(new StorageTexture(width, height), { type: FloatType, minFilter: NearestFilter, magFilter: NearestFilter, generateMipmaps: false });

  const draw = () => {
    for (const { target, quad } of layers) {
      renderer.setRenderTarget(target);
      quad.render(renderer);
    }
    renderer.setRenderTarget(null);
  };
  // The textures behind them exist once they were drawn to.
  draw();
  renderer.initTexture(result);
  const behind = (texture) => renderer.backend.get(texture).texture;
  const inputs = Object.fromEntries(layers.map(({ name, target }) => [name, behind(target.texture)]));
  const work = limpid.textures(inputs, behind(result), { method });

  const shown = (texture) => quad(vec4(textureLoad(texture, ivec2(screenCoordinate.xy)).rgb.pow(1 / 2.2), 1));
  const [clean, noisy] = [shown(texture(result)), shown(texture(layers[0].target.texture))];

  return {
    camera, limpid, renderer,
    frame() {
      before.value.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
      camera.lookAt(0, 0.6, 0);
      camera.updateProjectionMatrix();
      camera.updateMatrixWorld();
      if (seed.value === 0) before.value.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
      view.eye.value.setFromMatrixPosition(camera.matrixWorld);
      view.to_world.value.multiplyMatrices(camera.matrixWorld, camera.projectionMatrixInverse);
      seed.value++;
      draw();
      work.run();
    },
    show(denoised = true) { (denoised ? clean : noisy).render(renderer); },
    /** The colour before and after, for those who want to look at numbers. */
    textures: { noisy: inputs.color, clean: behind(result) },
    free() {
      work.free();
      renderer.dispose();
      limpid.free();
    },
  };
}
