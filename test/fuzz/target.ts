import assert from 'node:assert/strict';

/** A parser of ours that is given whatever comes. */
export type Target = {
  /** Right inputs that are made here, beside those that are kept. */
  seeds?: readonly Buffer[];
  /** Words of its language, which are put into inputs. */
  words?: readonly (string | Buffer)[];
  /**
   * Reads an input; throws if the parser throws anything but its declared error, or if what it gives breaks a property.
   */
  read: (input: Buffer) => void | Promise<void>;
};

/**
 * CPU seconds that an input of at most 128 KiB may cost, and the memory by which it may raise the peak of the process,
 * in MiB.
 */
const mostSeconds = 3;
const mostMemory = 400;

/** Lets a parser read an input, and asserts what that costs. */
export async function tryInput({ read }: Target, input: Buffer): Promise<void> {
  const [begun, peak] = [process.cpuUsage(), process.resourceUsage().maxRSS];
  await read(input);
  const { user, system } = process.cpuUsage(begun);
  const seconds = (user + system) / 1e6;
  assert.ok(seconds < mostSeconds, `${input.length} bytes cost ${seconds} s of CPU`);
  const grown = (process.resourceUsage().maxRSS - peak) / 1024;
  assert.ok(grown < mostMemory, `${input.length} bytes took ${grown} MiB of memory`);
}

/** Runs a parser; null if it throws an error that `isDeclared` knows. Any other error is thrown on. */
export function orRefused<T>(run: () => T, isDeclared: (error: unknown) => boolean): T | null {
  try {
    return run();
  } catch (error) {
    if (isDeclared(error)) return null;
    throw error;
  }
}

/** As {@link orRefused}, for a parser that is asynchronous. */
export async function orRefusedLater<T>(
  run: () => Promise<T>,
  isDeclared: (error: unknown) => boolean,
): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isDeclared(error)) return null;
    throw error;
  }
}
