import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DomainError } from '../../../config/errors.ts';
import type { PinRows } from '../../../events/postgres/vault/pins.ts';
import { BlobsUnavailableError } from '../../../storage/blobs.ts';
import { callMilliseconds, pinMilliseconds } from '../../../storage/postgres/durations.ts';
import { beingRemoved, doubtSeconds, type PinBoard, type PinHolder } from '../../files/blobs/pins.ts';

type Options = {
  rows: PinRows;
  /** The name of this node. */
  holder: string;
  log: { warn: (context: object, message: string) => void };
};

/** More than a store may take to remove a file, or to say that it cannot. */
const removalMilliseconds = 10 * 60_000;
const pauseMilliseconds = 100;

/** Makes a board of pins that all nodes share. `close` ends the renewal of pins. */
export function createSharedPins({ rows, holder: node, log }: Options): PinBoard & { close: () => void } {
  /** The names of the pins of this node. */
  const pinned = new Set<string>();
  const timer = setInterval(renew, pinMilliseconds.renew).unref();

  function renew(): void {
    if (pinned.size === 0) return;
    const failed = (err: unknown) => log.warn({ err }, 'pins of files could not be renewed; it is tried again');
    rows.renew([...pinned], pinMilliseconds.lasts).catch(failed);
  }

  async function take(sha256: string): Promise<string> {
    const name = `${node}/${randomUUID()}`;
    const until = performance.now() + callMilliseconds;
    for (;;) {
      const outcome = await rows.pin(sha256, name, pinMilliseconds.lasts);
      if (outcome === 'pinned') break;
      if (outcome === 'doubtful' || performance.now() > until) throw beingRemoved();
      await pause(pauseMilliseconds);
    }
    pinned.add(name);
    return name;
  }

  async function drop(names: readonly string[]): Promise<void> {
    for (const name of names) pinned.delete(name);
    try {
      if (names.length > 0) await rows.unpin(names);
    } catch (error) {
      // Pins end by themselves; until then the files stay, without harm.
      if (!(error instanceof DomainError)) throw error;
    }
  }

  function hold(): PinHolder {
    const held = new Map<string, string[]>();
    let isGone = false;
    return {
      async pin(sha256) {
        const name = await take(sha256);
        if (isGone) await drop([name]);
        else held.set(sha256, [...(held.get(sha256) ?? []), name]);
      },
      async unpin(sha256) {
        const name = held.get(sha256)?.pop();
        if (name !== undefined) await drop([name]);
      },
      async release() {
        isGone = true;
        const names = [...held.values()].flat();
        held.clear();
        await drop(names);
      },
    };
  }

  async function withhold<T>(sha256: string, remove: () => Promise<T>): Promise<T | null> {
    const name = `${node}/${randomUUID()}`;
    if (!(await rows.withhold(sha256, name, removalMilliseconds))) return null;
    let isDoubtful = false;
    try {
      return await remove();
    } catch (error) {
      isDoubtful = error instanceof BlobsUnavailableError;
      throw error;
    } finally {
      // Without an answer the row ends by itself.
      await rows.settle(sha256, name, isDoubtful ? doubtSeconds * 1000 : null).catch(() => {});
    }
  }

  return { hold, withhold, close: () => clearInterval(timer) };
}
