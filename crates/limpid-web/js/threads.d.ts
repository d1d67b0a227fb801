import type { Threads } from "limpid";

/**
 * Threads for the CPU, for `Limpid.create({ threads: threads() })`. They are used on isolated pages (`crossOriginIsolated`) and in Node; elsewhere
 * there is one thread. `count` is that of the machine by default; all that use threads at the same time share those of the first. `wasm` is for
 * bundlers: the address or the bytes of `limpid-threads.wasm.lzma`, or of what is packed in it.
 */
export function threads(options?: { count?: number; wasm?: string | URL | Response | BufferSource | WebAssembly.Module }): Threads;
