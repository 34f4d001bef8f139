import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { startWait } from './patience.ts';

/**
 * Asserts again until it holds, at most for the time that a page is waited for: what is shown comes after what brings
 * it about.
 */
export async function inTime(assertion: () => Promise<void>): Promise<void> {
  for (const wait = startWait(); ; ) {
    try {
      return await assertion();
    } catch (error) {
      if (wait.isOver()) throw new Error(wait.report(), { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until an input holds this. */
export function holds(input: Locator, text: string): Promise<void> {
  return inTime(async () => assert.equal(await input.inputValue(), text));
}

/** Waits until there are as many. */
export function number(all: Locator, count: number): Promise<void> {
  return inTime(async () => assert.equal(await all.count(), count));
}
