import type { MessagePort } from 'node:worker_threads';
import { DomainError, type FieldError, type RefusalCode } from '../../config/errors.ts';

type Call = { id: number; name: string; args: unknown[] };
type Answer = { id: number } & ({ value: unknown } | { refusal: Refusal } | { failure: Failure });
type Failure = { message: string; stack?: string; code?: string };
type Refusal = { code: RefusalCode; message: string; errors: readonly FieldError[]; retryAfter: number | null };

/** Answers the calls that come through a port. It does not keep its thread from ending. */
export function answerCalls<T extends { [name in keyof T]: (...args: never[]) => Promise<unknown> }>(
  port: MessagePort,
  functions: T,
): void {
  port.on('message', async ({ id, name, args }: Call) => {
    let answer: Answer;
    try {
      answer = { id, value: await run(functions, name, args) };
    } catch (error) {
      answer = { id, ...described(error) };
    }
    try {
      port.postMessage(answer);
    } catch (error) {
      // The value cannot pass between threads; without an answer its caller would wait for ever.
      port.postMessage({ id, ...described(error) } satisfies Answer);
    }
  });
  port.unref();
}

function run(functions: object, name: string, args: unknown[]): Promise<unknown> {
  if (!Object.hasOwn(functions, name)) throw new Error(`there is no function ${name} to call`);
  const called: (...args: unknown[]) => Promise<unknown> = Reflect.get(functions, name);
  return Reflect.apply(called, functions, args);
}

function described(error: unknown): { refusal: Refusal } | { failure: Failure } {
  if (error instanceof DomainError) {
    const { code, message, errors, retryAfter } = error;
    return { refusal: { code, message, errors, retryAfter } };
  }
  // Anything can be thrown.
  if (!(error instanceof Error)) return { failure: { message: String(error) } };
  const { message, stack } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { failure: { message, ...(stack === undefined ? {} : { stack }), ...(code === undefined ? {} : { code }) } };
}

/**
 * The functions that are answered at the other end of a port, called as if they were here. The port keeps its thread
 * from ending only while an answer is due. When the port closes, calls that wait are rejected.
 */
export function callsThrough<T extends object>(port: MessagePort): T {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  let isClosed = false;

  port.on('message', (answer: Answer) => {
    const call = waiting.get(answer.id);
    forget(answer.id);
    if (!call) return;
    if ('value' in answer) call.resolve(answer.value);
    else call.reject(errorOf(answer));
  });
  port.on('close', () => {
    isClosed = true;
    for (const { reject } of waiting.values()) reject(endedError());
    waiting.clear();
  });
  port.unref();

  function call(name: string, args: unknown[]): Promise<unknown> {
    if (isClosed) return Promise.reject(endedError());
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      port.ref();
      waiting.set(id, { resolve, reject });
      try {
        port.postMessage({ id, name, args } satisfies Call);
      } catch (error) {
        forget(id);
        reject(error);
      }
    });
  }

  function forget(id: number): void {
    waiting.delete(id);
    if (waiting.size === 0) port.unref();
  }

  return new Proxy({} as T, {
    get(_, name) {
      // An object with a `then` would be taken for a promise.
      if (typeof name === 'symbol' || name === 'then') return undefined;
      return (...args: unknown[]) => call(name, args);
    },
  });
}

function errorOf(answer: Exclude<Answer, { value: unknown }>): Error {
  if ('refusal' in answer) {
    const { code, message, errors, retryAfter } = answer.refusal;
    return new DomainError(code, message, errors, retryAfter);
  }
  return Object.assign(new Error(answer.failure.message), answer.failure);
}

function endedError(): Error {
  return new Error('the thread that answers these calls ended');
}
