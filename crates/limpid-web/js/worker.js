// A thread: a worker that runs the module on the memory that it is given. `threads.js` starts it.

import { endThreads, initSync, joinThreads, leadThreads, workOnThreads } from "./limpid_threads.js";

const port = typeof postMessage === "function" ? globalThis : (await import("node:worker_threads")).parentPort;
let exports;

/** Called by the module. */
globalThis.limpidTold = (job, share) => port.postMessage({ job, share });

const tasks = {
  start({ compiled, memory }) { exports = initSync({ module: compiled, memory }); },
  lead({ count }) { leadThreads(count); },
  join() {
    joinThreads();
    // Its stack is given back.
    exports.__wbindgen_thread_destroy();
  },
  work() { workOnThreads(); },
  end() {
    endThreads();
    exports.__wbindgen_thread_destroy();
  },
};

port.onmessage = ({ data }) => {
  try {
    tasks[data.task](data);
    port.postMessage({ job: data.job });
  } catch (error) {
    port.postMessage({ fault: `${error.message ?? error}` });
  }
};
port.postMessage({});
