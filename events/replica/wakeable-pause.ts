/** Pauses of a loop, each of which can be ended early. */
export function openPause() {
  let wake = () => {};
  return {
    sleep(milliseconds: number): Promise<void> {
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    /** Ends the pause; without effect between two pauses. */
    wake: (): void => wake(),
  };
}
