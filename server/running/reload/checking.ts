import { messageOf } from '../../../storage/errors.ts';
import { startThread } from '../../platform/threads.ts';
import type { CheckInput, CheckResult } from '../threads/config-thread.ts';

/** Longer than the time limit of a module that awaits something. */
const checkMilliseconds = 60_000;

/**
 * Loads a configuration in a thread that ends afterwards: nothing that its modules do there, not even an endless loop,
 * reaches the service. A failure is a result.
 */
export async function checkConfiguration(input: CheckInput): Promise<CheckResult> {
  const worker = startThread('config', input);
  // The process may end before the thread.
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<CheckResult>();
  const timer = setTimeout(
    () => reject(new Error(`it is not loaded within ${checkMilliseconds / 1000} seconds`)),
    checkMilliseconds,
  );
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (code) => reject(new Error(`the thread that loads it exited with ${code}`)));
  try {
    return await promise;
  } catch (error) {
    return { problem: `${input.config} cannot be loaded: ${messageOf(error)}`, sources: new Map() };
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
