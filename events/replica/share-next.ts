/** A question that is asked anew for each caller; but callers that come while it is under way share the next one. */
export function shareNext<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  return function askNow(): Promise<T> {
    if (asked === null) {
      asked = ask().finally(() => {
        asked = null;
      });
      return asked;
    }
    next ??= asked
      .catch(() => {})
      .then(() => {
        next = null;
        return askNow();
      });
    return next;
  };
}
