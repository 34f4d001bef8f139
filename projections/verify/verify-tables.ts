import { existsSync } from 'node:fs';
import { schemaStream } from '../../events/facts/catalogue.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { projectionOf } from '../tables/epochs.ts';
import { readFileOf } from '../tables/files.ts';
import { projectionHash } from '../tables/tables.ts';
import { auditChecker } from './verify-audit.ts';
import { checkClaims } from './verify-claims.ts';
import { checkDocuments } from './verify-documents.ts';

/** Compares a read file and the claims with their log, up to the first finding. */
export type TableChecks = {
  /** Checks what the read file has of an event, whose header is sound. */
  look: (header: Header) => void;
  /** The rest, in steps, after all headers; gives the first finding. */
  rest: () => Generator<void, Finding | null>;
  close: () => void;
};

/**
 * Compares the read file and the claims of a log with the log, beside a service that keeps writing: the audit tables
 * with each header that is looked at, claims with the values of documents, and some documents with their events. It
 * makes no second copy, so it leaves most rows of documents to {@link verifyDirectory}.
 *
 * @returns null if there is no read file, or the log does not say its schema.
 */
export function openTableChecks(directory: string, db: Sqlite, log: LogReader): TableChecks | null {
  const made = soundly(() => projectionOf(log));
  const path = made && readFileOf(directory, projectionHash(made.schema, made.projection.upcaster));
  if (!made || !path || !existsSync(path)) return null;
  const { projection, schema } = made;
  const read = openDatabase(path, { readonly: true, cacheMiB: 4 });
  const files = { db, log, read };
  const headerAt = (position: number) => {
    const [text] = position < 1 ? [] : log.headers(position - 1, position);
    return text === undefined ? null : headerOf(text);
  };
  const version = log.versionOf(schemaStream);
  let finding: Finding | null = null;
  let audit: ReturnType<typeof auditChecker> | null = null;

  function look(header: Header): void {
    if (finding !== null) return;
    try {
      audit ??= auditChecker(read, headerAt);
      const its = audit;
      const found = soundly(() => its.check(header));
      if (found !== null) finding = `read tables: ${found}`;
    } catch (error) {
      finding = damageIn(error);
    }
  }

  function* rest(): Generator<void, Finding | null> {
    if (finding !== null) return finding;
    try {
      const found = yield* checkClaims(files, schema);
      // The claims are compared with the former schema if another was applied meanwhile.
      if (log.versionOf(schemaStream) !== version) return null;
      if (found !== null) return found;
      const rows = yield* checkDocuments(files, projection);
      return rows && `read tables: ${rows}`;
    } catch (error) {
      return damageIn(error);
    }
  }

  return { look, rest, close: () => read.close() };
}

/** Null for an error of the log itself, which the check of the log reports more exactly. */
function soundly<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof BrokenLogError) return null;
    throw error;
  }
}

/** The finding about a damaged read file; the log itself was checked before. */
function damageIn(error: unknown): Finding {
  if (!isDamage(error)) throw error;
  return `read tables: damaged: ${messageOf(error)}`;
}
