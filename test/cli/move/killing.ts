import Database from 'better-sqlite3';
import pg from 'pg';

// Loaded before a command (`NODE_OPTIONS=--import …`), it kills it at the step of that number: right before, or right after, a statement
// that PostgreSQL is sent, or that changes something in a file of SQLite.

/** The environment of a command that is killed at a step, counted from 1. */
export function killedAt(step: number): Record<string, string> {
  return { NODE_OPTIONS: `--import=${import.meta.url}`, KILL_AT_STEP: String(step) };
}

const { KILL_AT_STEP } = process.env;

if (KILL_AT_STEP !== undefined) {
  const last = Number(KILL_AT_STEP);
  let step = 0;
  const count = () => {
    step += 1;
    if (step === last) process.kill(process.pid, 'SIGKILL');
  };

  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
    const [config] = values as [{ text?: string }];
    const isChange = /^\s*(?:INSERT|UPDATE|DELETE|COMMIT|CREATE)/.test(config?.text ?? '');
    if (!isChange) return Reflect.apply(query, this, values);
    count();
    const done = Reflect.apply(query, this, values);
    done.then(count, () => {});
    return done;
  } as typeof query;

  const { exec } = Database.prototype;
  Database.prototype.exec = function (this: Database.Database, source: string) {
    const isChange = /^(?:COMMIT|CREATE TRIGGER|DROP|DELETE)/.test(source);
    if (isChange) count();
    const result = Reflect.apply(exec, this, [source]);
    if (isChange) count();
    return result;
  };
}
