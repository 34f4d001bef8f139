import init from '@sqlite.org/sqlite-wasm';

/**
 * SQLite, compiled to WebAssembly: the same source as the one of the product, with the calls of the system left to us.
 */
const sqlite3 = await init();

export const { capi, wasm, vfs } = sqlite3;

/** A place in its memory. */
export type Pointer = number;

/** The functions of the library, called without the conversions of {@link capi}. */
export const raw = wasm.exports as Record<string, (...values: (number | bigint)[]) => number>;

/** The bytes at a place. They are to be used before anything else is called, which may move all of the memory. */
export function bytesAt(pointer: Pointer, length: number): Uint8Array {
  return wasm.heap8u().subarray(pointer, pointer + length);
}

/** The extended name of a result of a call, such as `SQLITE_IOERR_FSYNC`. */
export function nameOf(result: number): string {
  return capi.sqlite3_js_rc_str(result) ?? capi.sqlite3_js_rc_str(result & 0xff) ?? `SQLITE_${result}`;
}
