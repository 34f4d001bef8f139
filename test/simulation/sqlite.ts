import { bytesAt, capi, nameOf, type Pointer, raw, wasm } from './library.ts';
import './vfs.ts';

/** Stands in for better-sqlite3 in the product: the part of it that the product uses, over {@link capi}. */

type Value = string | number | bigint | Buffer | null;

/** An error of SQLite, by its extended name. */
export class SqliteError extends Error {
  override name = 'SqliteError';
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

const openOnes = new Set<Database>();

/** Closes the files that a process leaves open when it ends. */
export function closeDatabases(): void {
  for (const db of openOnes) db.close();
}

type Function = (...values: unknown[]) => unknown;

export default class Database {
  static SqliteError = SqliteError;
  readonly name: string;
  readonly memory: boolean;
  readonly readonly: boolean;
  open = true;
  /** An error of a function of ours, which SQLite tells as its own. */
  thrown: unknown;
  readonly pointer: Pointer;
  readonly statements = new Set<Statement>();

  constructor(path: string, options: { readonly?: boolean; fileMustExist?: boolean } = {}) {
    this.name = path;
    this.memory = path === ':memory:';
    this.readonly = options.readonly === true;
    const flags = this.readonly
      ? capi.SQLITE_OPEN_READONLY
      : capi.SQLITE_OPEN_READWRITE | (options.fileMustExist ? 0 : capi.SQLITE_OPEN_CREATE);
    const out = wasm.alloc(8);
    const result = capi.sqlite3_open_v2(path, out, flags, 0);
    this.pointer = wasm.peek(out, '*') as Pointer;
    wasm.dealloc(out);
    if (result !== capi.SQLITE_OK) {
      const error = this.error(result);
      capi.sqlite3_close_v2(this.pointer);
      throw error;
    }
    openOnes.add(this);
    capi.sqlite3_extended_result_codes(this.pointer, 1);
    // The settings with which better-sqlite3 was compiled, and opens files.
    capi.sqlite3_db_config(this.pointer, capi.SQLITE_DBCONFIG_DEFENSIVE, 1, 0);
    this.exec('PRAGMA page_size = 4096; PRAGMA foreign_keys = 1');
  }

  get inTransaction(): boolean {
    return this.open && raw.sqlite3_get_autocommit?.(this.pointer) === 0;
  }

  /** @returns the error of a call that has just failed. */
  error(result: number): unknown {
    const { thrown } = this;
    this.thrown = undefined;
    if (thrown !== undefined) return thrown;
    const code = this.pointer === 0 ? result : (raw.sqlite3_extended_errcode?.(this.pointer) ?? result);
    const message = this.pointer === 0 ? 'out of memory' : capi.sqlite3_errmsg(this.pointer);
    return new SqliteError(message, nameOf(code === 0 ? result : code));
  }

  prepare(sql: string): Statement {
    const [statement] = this.compile(sql);
    if (!statement) throw new RangeError('The supplied SQL string contains no statements');
    return statement;
  }

  /** @returns the first statement of a text, and the rest of the text. */
  compile(sql: string): [Statement | null, string] {
    if (!this.open) throw new TypeError('The database connection is not open');
    const bytes = Buffer.from(`${sql}\0`);
    const text = wasm.alloc(bytes.length + 8);
    try {
      wasm.heap8u().set(bytes, text + 8);
      const result = raw.sqlite3_prepare_v3?.(this.pointer, text + 8, -1, 0, text, text + 4) ?? 0;
      if (result !== capi.SQLITE_OK) throw this.error(result);
      const pointer = wasm.peek(text, '*') as Pointer;
      const used = (wasm.peek(text + 4, '*') as Pointer) - text - 8;
      const statement = pointer === 0 ? null : new Statement(this, pointer, sql);
      return [statement, bytes.subarray(used, -1).toString()];
    } finally {
      wasm.dealloc(text);
    }
  }

  exec(sql: string): this {
    for (let rest = sql; rest.trim() !== ''; ) {
      const [statement, next] = this.compile(rest);
      rest = next;
      if (!statement) break;
      try {
        while (statement.step());
      } finally {
        statement.finalize();
      }
    }
    return this;
  }

  pragma(text: string, { simple = false } = {}): unknown {
    const statement = this.prepare(`PRAGMA ${text}`);
    try {
      return simple ? statement.pluck().get() : statement.all();
    } finally {
      statement.finalize();
      // As better-sqlite3 was compiled, a file with a write-ahead log is NORMAL until it is set to something else.
      if (/^journal_mode *= *wal$/i.test(text)) this.exec('PRAGMA synchronous = NORMAL');
    }
  }

  function(name: string, given: Function | object, last?: Function): this {
    const run = (last ?? given) as Function;
    const options = (last ? given : {}) as { varargs?: boolean; deterministic?: boolean; directOnly?: boolean };
    const flags =
      capi.SQLITE_UTF8 |
      (options.deterministic ? capi.SQLITE_DETERMINISTIC : 0) |
      (options.directOnly ? capi.SQLITE_DIRECTONLY : 0);
    const call = (_: Pointer, ...values: unknown[]) => {
      try {
        return run(...values.map(toBuffer)) as string;
      } catch (error) {
        this.thrown = error;
        throw error;
      }
    };
    const result = capi.sqlite3_create_function_v2(
      this.pointer,
      name,
      options.varargs ? -1 : run.length,
      flags as 1,
      0,
      call,
      0,
      0,
      0,
    );
    if (result !== capi.SQLITE_OK) throw this.error(result);
    return this;
  }

  transaction<Values extends unknown[], T>(run: (...values: Values) => T) {
    const wrap =
      (begin: string) =>
      (...values: Values): T => {
        const isNested = this.inTransaction;
        this.exec(isNested ? 'SAVEPOINT simulated' : begin);
        try {
          const result = run(...values);
          this.exec(isNested ? 'RELEASE simulated' : 'COMMIT');
          return result;
        } catch (error) {
          if (this.inTransaction) this.exec(isNested ? 'ROLLBACK TO simulated; RELEASE simulated' : 'ROLLBACK');
          throw error;
        }
      };
    return Object.assign(wrap('BEGIN'), {
      deferred: wrap('BEGIN DEFERRED'),
      immediate: wrap('BEGIN IMMEDIATE'),
      exclusive: wrap('BEGIN EXCLUSIVE'),
    });
  }

  close(): this {
    if (!this.open) return this;
    for (const statement of this.statements) statement.finalize();
    this.open = false;
    openOnes.delete(this);
    capi.sqlite3_close_v2(this.pointer);
    return this;
  }
}

function toBuffer(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

export class Statement {
  readonly database: Database;
  readonly source: string;
  readonly pointer: Pointer;
  #form: 'object' | 'pluck' | 'raw' = 'object';
  #names: string[] | null = null;
  #isFinal = false;

  constructor(database: Database, pointer: Pointer, source: string) {
    this.database = database;
    this.pointer = pointer;
    this.source = source;
    database.statements.add(this);
  }

  pluck(isOn = true): this {
    this.#form = isOn ? 'pluck' : 'object';
    return this;
  }

  raw(isOn = true): this {
    this.#form = isOn ? 'raw' : 'object';
    return this;
  }

  run(...values: unknown[]) {
    this.#begin(values);
    try {
      while (this.step());
    } finally {
      this.#reset();
    }
    const { pointer } = this.database;
    return {
      changes: raw.sqlite3_changes?.(pointer) ?? 0,
      lastInsertRowid: Number(raw.sqlite3_last_insert_rowid?.(pointer) ?? 0),
    };
  }

  get(...values: unknown[]): unknown {
    this.#begin(values);
    try {
      return this.step() ? this.#row() : undefined;
    } finally {
      this.#reset();
    }
  }

  all(...values: unknown[]): unknown[] {
    return [...this.iterate(...values)];
  }

  *iterate(...values: unknown[]): Generator<unknown> {
    this.#begin(values);
    try {
      while (this.step()) yield this.#row();
    } finally {
      this.#reset();
    }
  }

  columns(): { name: string }[] {
    return this.#columns().map((name) => ({ name }));
  }

  /** @returns whether there is a row. */
  step(): boolean {
    const result = raw.sqlite3_step?.(this.pointer) ?? 0;
    if (result === capi.SQLITE_ROW) return true;
    if (result === capi.SQLITE_DONE) return false;
    throw this.database.error(result);
  }

  finalize(): void {
    if (this.#isFinal) return;
    this.#isFinal = true;
    this.database.statements.delete(this);
    raw.sqlite3_finalize?.(this.pointer);
  }

  #begin(values: unknown[]): void {
    if (this.#isFinal || !this.database.open) throw new TypeError('The database connection is not open');
    raw.sqlite3_reset?.(this.pointer);
    raw.sqlite3_clear_bindings?.(this.pointer);
    let place = 0;
    for (const value of values) {
      if (isNamed(value)) this.#bindNamed(value);
      else {
        place += 1;
        this.#bind(place, value as Value);
      }
    }
  }

  #bindNamed(values: Record<string, unknown>): void {
    const count = raw.sqlite3_bind_parameter_count?.(this.pointer) ?? 0;
    for (let place = 1; place <= count; place += 1) {
      const name = wasm.cstrToJs(raw.sqlite3_bind_parameter_name?.(this.pointer, place) ?? 0)?.slice(1);
      if (name === undefined) continue;
      if (!(name in values)) throw new RangeError(`Missing named parameter "${name}"`);
      this.#bind(place, values[name] as Value);
    }
  }

  #bind(place: number, value: Value): void {
    let result = 0;
    if (value === null || value === undefined) result = raw.sqlite3_bind_null?.(this.pointer, place) ?? 0;
    else if (typeof value === 'number') result = raw.sqlite3_bind_double?.(this.pointer, place, value) ?? 0;
    else if (typeof value === 'bigint') result = raw.sqlite3_bind_int64?.(this.pointer, place, value) ?? 0;
    else result = this.#bindBytes(place, value);
    if (result !== capi.SQLITE_OK) throw this.database.error(result);
  }

  #bindBytes(place: number, value: string | Buffer): number {
    const isText = typeof value === 'string';
    const bytes = isText ? Buffer.from(value) : value;
    const copy = wasm.alloc(Math.max(1, bytes.length));
    wasm.heap8u().set(bytes, copy);
    const bind = isText ? raw.sqlite3_bind_text : raw.sqlite3_bind_blob;
    const result = bind?.(this.pointer, place, copy, bytes.length, capi.SQLITE_TRANSIENT as unknown as number) ?? 0;
    wasm.dealloc(copy);
    return result;
  }

  #reset(): void {
    if (!this.#isFinal) raw.sqlite3_reset?.(this.pointer);
  }

  #columns(): string[] {
    this.#names ??= Array.from({ length: raw.sqlite3_column_count?.(this.pointer) ?? 0 }, (_, index) =>
      String(wasm.cstrToJs(raw.sqlite3_column_name?.(this.pointer, index) ?? 0)),
    );
    return this.#names;
  }

  #row(): unknown {
    if (this.#form === 'pluck') return this.#value(0);
    const names = this.#columns();
    if (this.#form === 'raw') return names.map((_, index) => this.#value(index));
    return Object.fromEntries(names.map((name, index) => [name, this.#value(index)]));
  }

  #value(index: number): Value {
    const { pointer } = this;
    const type = raw.sqlite3_column_type?.(pointer, index);
    if (type === capi.SQLITE_NULL) return null;
    if (type === capi.SQLITE_INTEGER) return Number(raw.sqlite3_column_int64?.(pointer, index));
    if (type === capi.SQLITE_FLOAT) return raw.sqlite3_column_double?.(pointer, index) ?? 0;
    const isText = type === capi.SQLITE_TEXT;
    const at = (isText ? raw.sqlite3_column_text : raw.sqlite3_column_blob)?.(pointer, index) ?? 0;
    const bytes = Buffer.from(bytesAt(at, raw.sqlite3_column_bytes?.(pointer, index) ?? 0));
    return isText ? bytes.toString() : bytes;
  }
}

function isNamed(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}
