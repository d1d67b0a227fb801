// Threads for Limpid: a module whose memory workers share. It has the methods on the CPU, and no GPU.

import load, {
  Device, Engine as Inner, Picture, Settings, Step, failOnThreads, installBestWeights, memoryBytes, methods, prepareThreads,
} from "./limpid_threads.js";

let module, team, ending;

/** For `Limpid.create({ threads: threads() })`: as many threads as the machine has, or `count`. */
export function threads({ count, wasm = new URL("limpid-threads.wasm.lzma", import.meta.url) } = {}) {
  if (count !== undefined && !(Number.isInteger(count) && count > 0)) throw new RangeError(`${count} is no number of threads`);
  return { open: (moduleOf) => open(moduleOf, wasm, count) };
}

const isNode = typeof Worker === "undefined" && typeof process !== "undefined";

/** How many threads this machine has. */
async function available() {
  if (!isNode) return navigator.hardwareConcurrency || 2;
  const { availableParallelism } = await import("node:os");
  return availableParallelism();
}

/** A worker, and functions for what it says and for its errors. */
async function worker(heard, failed) {
  const place = new URL("worker.js", import.meta.url);
  if (isNode) {
    const { Worker } = await import("node:worker_threads");
    // Options of this process may not be for files, such as those of `--eval`.
    return new Worker(place, { execArgv: [] }).on("message", heard).on("error", failed);
  }
  const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  made.onmessage = ({ data }) => heard(data);
  made.onerror = (event) => failed(new Error(event.message || `${place} does not start`));
  return made;
}

const ended = () => new Error("the threads have ended: their Limpid was freed");

/** Workers, of which the first leads the others. */
class Team {
  #workers = [];
  #waiting = new Map();
  #next = 0;
  #users = 0;
  #fault;
  /** Functions of those who wait for an answer of a worker, by worker. */
  #asked = new Map();

  static async of(compiled, memory, count) {
    const made = new Team();
    made.count = count;
    try {
      // One more: the leader waits while the others work.
      await Promise.all(Array.from({ length: count + 1 }, (_, i) => made.#add(i)));
      await Promise.all(made.#workers.map((_, i) => made.#ask(i, { task: "start", compiled, memory })));
      await made.#ask(0, { task: "lead", count });
      for (let i = 1; i <= count; i++) made.#tell(i, { task: "join" });
    } catch (error) {
      made.#fail(error);
      throw error;
    }
    // Node may end while nothing is waited for.
    for (const one of made.#workers) one.unref?.();
    return made;
  }

  async #add(i) {
    const ready = new Promise((resolve, reject) => this.#asked.set(i, { resolve, reject }));
    this.#workers[i] = await worker((said) => this.#heard(i, said), (error) => this.#fail(error));
    await ready;
  }

  #tell(i, what) { this.#workers[i].postMessage(what); }

  #ask(i, what) {
    return new Promise((resolve, reject) => {
      if (this.#fault) return reject(this.#fault);
      this.#asked.set(i, { resolve, reject });
      this.#tell(i, what);
    });
  }

  #heard(i, { fault, job, share }) {
    if (fault) return this.#fail(new WebAssembly.RuntimeError(fault));
    if (share !== undefined) return this.#waiting.get(job)?.progress(share);
    if (job !== undefined) return this.#settle(job, ({ resolve }) => resolve());
    const asked = this.#asked.get(i);
    this.#asked.delete(i);
    asked?.resolve();
  }

  #settle(job, how) {
    const waiting = this.#waiting.get(job);
    this.#waiting.delete(job);
    if (!this.#waiting.size && this.#users) this.#workers[0].unref?.();
    if (waiting) how(waiting);
  }

  /** A fault on one thread ends all: the others would wait for it. */
  #fail(error) {
    this.#fault ??= error;
    for (const one of this.#workers) one?.terminate();
    for (const { reject } of this.#asked.values()) reject(this.#fault);
    this.#asked.clear();
    for (const job of [...this.#waiting.keys()]) this.#settle(job, ({ reject }) => reject(this.#fault));
  }

  /** Has the leader take what `hand` hands in under a number; `progress` is told of it. */
  work(hand, progress) {
    return new Promise((resolve, reject) => {
      if (this.#fault ?? !this.#users) return reject(this.#fault ?? ended());
      const job = this.#next++;
      hand(job);
      this.#waiting.set(job, { resolve, reject, progress });
      this.#workers[0].ref?.();
      this.#tell(0, { task: "work", job });
    });
  }

  begin() {
    // What a fault leaves in the memory is not worked on.
    if (this.#fault) throw this.#fault;
    this.#users++;
  }

  /** Without users, the threads end when the work is done. */
  end() {
    if (--this.#users || this.#fault) return;
    team = undefined;
    // Others may wait for the end.
    for (const one of this.#workers) one.ref?.();
    const others = this.#workers.slice(1).map((_, i) => new Promise((resolve, reject) => this.#asked.set(i + 1, { resolve, reject })));
    const all = Promise.all([this.#ask(0, { task: "end" }), ...others]);
    ending = all.then(() => this.#fail(ended()), () => {});
  }
}

/** The engine of `limpid_threads.js`, as that of the module without threads is used. */
class Engine {
  #team;
  #inner;
  #method;

  constructor(own, device, method, settings) {
    this.#team = own;
    this.#inner = new Inner(device, method, settings);
    this.#method = this.#inner.method;
  }

  async #work(step, picture, tell) {
    const progress = (share) => {
      // As for functions that WebAssembly calls, an error stops the work.
      try {
        if (tell?.(share) === false) this.stop();
      } catch {
        this.stop();
      }
    };
    await this.#team.work((job) => this.#inner.start(job, step, picture), progress);
    const made = this.#inner.take();
    progress(1);
    this.#method = this.#inner.method;
    return made;
  }

  async run(picture, tell) {
    const [made] = await this.#work(Step.Run, picture, tell);
    return made;
  }
  push(picture, tell) { return this.#work(Step.Push, picture, tell); }
  finish(last, tell) { return this.#work(Step.Finish, last, tell); }
  stop() { this.#inner.stop(); }
  get method() { return this.#method; }
  free() { this.#inner.free(); }
}

/** The module, once: the first thread to ask for it runs what is not for workers. */
async function loaded(moduleOf, wasm) {
  module ??= (async () => {
    const given = await moduleOf(wasm);
    const compiled = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given);
    const { memory } = await load({ module_or_path: compiled });
    prepareThreads();
    return { compiled, memory };
  })();
  try {
    return await module;
  } catch (error) {
    module = undefined;
    throw error;
  }
}

/** What `Limpid` works with. All work is done by one team, whose size the first to come has said. */
async function open(moduleOf, wasm, count) {
  const { compiled, memory } = await loaded(moduleOf, wasm);
  await ending;
  team ??= available().then((most) => Team.of(compiled, memory, count ?? most));
  const own = await team.catch((error) => {
    team = undefined;
    throw error;
  });
  own.begin();
  const device = Device.onThreads(own.count);
  return {
    Picture, Settings, installBestWeights, memoryBytes, methods,
    device: {
      kind: device.kind,
      name: device.name,
      threads: own.count,
      lose: () => own.work(() => failOnThreads(), () => {}).catch(() => {}),
      free: () => {
        device.free();
        own.end();
      },
    },
    engine: (_, method, settings) => new Engine(own, device, method, settings),
  };
}
