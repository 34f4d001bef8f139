/** The open parts of something that runs. */
export type Parts = {
  /**
   * Adds a part that was just opened, and says how it is closed.
   *
   * @throws Error after `close`: the part is closed as well, and no further one is to be opened.
   */
  add: <T>(part: T, close: (part: T) => unknown) => T;
  /** Closes all parts, the last one first, each even if another one fails to close. Later calls wait for the first. */
  close: () => Promise<void>;
};

/** Creates an empty list of parts. */
export function createParts(): Parts {
  const closers: (() => unknown)[] = [];
  let closing: Promise<void> | null = null;
  return {
    add(part, close) {
      closers.push(() => close(part));
      if (closing === null) return part;
      closing = closing.finally(() => closeAll(closers));
      closing.catch(() => {});
      throw new Error('a part was opened while the others were closed');
    },
    close() {
      closing ??= closeAll(closers);
      return closing;
    },
  };
}

/** Takes each part out of the list and closes it. @throws what closing threw; an AggregateError of several errors. */
async function closeAll(closers: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (let close = closers.pop(); close; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 1) throw new AggregateError(errors, 'several parts could not be closed');
  if (errors.length === 1) throw errors[0];
}
