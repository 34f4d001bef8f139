import Database from 'better-sqlite3';
import pg from 'pg';

// Loaded before a command (`NODE_OPTIONS=--import …`), it kills it at the step of that number: right before, or right
// after, a commit in PostgreSQL or in a file of SQLite, and what changes the place of the log.

/**
 * The environment of a command that is killed at a step, counted from 1; at 0 it is not killed, and prints how many
 * there were.
 */
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

  if (last === 0) process.on('exit', () => process.stderr.write(`${step} steps\n`));

  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
    const [config] = values as [{ text?: string }];
    const isChange = /^(?:COMMIT|(?:INSERT INTO|UPDATE) annals\.heads)/.test(config?.text ?? '');
    if (!isChange) return Reflect.apply(query, this, values);
    count();
    const done = Reflect.apply(query, this, values);
    done.then(count, () => {});
    return done;
  } as typeof query;

  const { exec } = Database.prototype;
  Database.prototype.exec = function (this: Database.Database, source: string) {
    const isChange = /^(?:COMMIT|CREATE TRIGGER (?:events|commands)|DELETE FROM (?:passwords|deliveries))/.test(source);
    if (isChange) count();
    const result = Reflect.apply(exec, this, [source]);
    if (isChange) count();
    return result;
  };

  const { pragma } = Database.prototype;
  Database.prototype.pragma = function (this: Database.Database, ...values: Parameters<typeof pragma>) {
    const isEnd = values[0].startsWith('wal_checkpoint');
    if (isEnd) count();
    const result = Reflect.apply(pragma, this, values);
    if (isEnd) count();
    return result;
  };
}
