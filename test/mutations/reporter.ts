import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/**
 * The result of a test. `why`: `testCodeFailure` if the test itself has failed, and not a hook or a suite around it.
 */
export type Result = { name: string; isPassed: boolean; why: string | null; error: string | null };

/** Reports each test as a line of JSON. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, skip, todo } = event.data;
    if (details.type === 'suite') continue;
    const isPassed = event.type === 'test:pass' && skip === undefined && todo === undefined;
    const result: Result = {
      name,
      isPassed,
      ...(event.type === 'test:fail' ? failureOf(event.data.details.error) : none),
    };
    yield `${JSON.stringify(result)}\n`;
  }
}

const none = { why: null, error: null };

/**
 * The runner gives an error of its own, whose cause is the thrown error; from another process the cause may be no
 * `Error`.
 */
function failureOf(error: Error & { failureType?: string }): Pick<Result, 'why' | 'error'> {
  const cause = error.cause ?? error;
  const { name = 'Error', message } = cause as Partial<Error>;
  return { why: error.failureType ?? null, error: message === undefined ? inspect(cause) : `${name}: ${message}` };
}
