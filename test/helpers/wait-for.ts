import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { startWait } from './patience.ts';

/**
 * Repeats an assertion until it holds, at most for the time that a page may take: a page shows a change a moment after
 * its cause.
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

/** Waits until an input holds this text. */
export function holds(input: Locator, text: string): Promise<void> {
  return inTime(async () => assert.equal(await input.inputValue(), text));
}

/** Waits until there are `count` elements. */
export function number(all: Locator, count: number): Promise<void> {
  return inTime(async () => assert.equal(await all.count(), count));
}
