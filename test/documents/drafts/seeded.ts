import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config } from '../../../config/define.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { globalStream } from '../../../events/facts/catalogue.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import {
  decideDraft,
  decideDraftUpdate,
  decideEnd,
  decidePublicCreate,
  decidePublish,
  decideUnpublish,
  type LineSubject,
  type LinesNow,
  type LineTarget,
  noLinesNow,
} from '../../../events/facts/line-decisions.ts';
import type { Change } from '../../../events/facts/log.ts';
import { openLines } from '../../../projections/query/lines.ts';
import { type Tables, tablesOf } from '../../../projections/tables/tables.ts';
import { sealsIn } from '../../events/logs.ts';
import { category } from '../../helpers/category.ts';
import { type HereService, startHere } from '../../helpers/embedded.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { type Directory, openDirectory } from '../../projections/directory.ts';

/** Records documents in a data directory, whose service then reads them. */
export type Seeding = {
  directory: Directory;
  /** A public document, of a collection with or without drafts. */
  publish: (slug: string, values: JsonObject) => string;
  /** A document that is a draft alone. */
  draft: (slug: string, values: JsonObject) => string;
  /** Changes the draft of a document, or of a global. */
  change: (slug: string, id: string, values: JsonObject, actor?: Actor) => void;
  /** Makes the draft of a document public. */
  publishDraft: (slug: string, id: string) => void;
  unpublish: (slug: string, id: string) => void;
  remove: (slug: string, id: string) => void;
  setGlobal: (slug: string, values: JsonObject) => void;
  record: (decision: Change | null, actor?: Actor) => void;
};

const system: Actor = { type: 'system' };

/** Makes the means to record documents in an open directory. */
export function seedingOf(directory: Directory): Seeding {
  const { schema, reader } = directory;
  const tables = new Map(tablesOf(schema).map((one) => [one.key, one]));
  let count = 0;

  function targetOf(slug: string): LineTarget {
    const isGlobal = schema.globals.some((one) => one.slug === slug);
    return { category: category(isGlobal ? 'globals' : slug), unique: [], isGlobal };
  }

  function linesOf(slug: string, id: string): LinesNow {
    const key = targetOf(slug).isGlobal ? globalStream(slug) : slug;
    const own = tables.get(key) as Tables;
    return own.drafts ? openLines(reader, own, own.drafts)(id) : noLinesNow;
  }

  function record(decision: Change | null, actor = system): void {
    if (decision) directory.record(decision, { actor });
  }

  function next(): { id: string; at: number } {
    count += 1;
    const at = Date.UTC(2026, 10, 20, 12, 0, count);
    const time = at.toString(16).padStart(12, '0');
    return { id: `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(count).padStart(12, '0')}`, at };
  }

  function subjectOf(slug: string, id: string): LineSubject {
    return { id, now: linesOf(slug, id), actor: system, at: next().at };
  }

  return {
    directory,
    publish(slug, values) {
      const { id, at } = next();
      if (tables.get(slug)?.drafts) record(decidePublicCreate(targetOf(slug), { id, actor: system, at }, values));
      else directory.create(slug, values, id);
      return id;
    },
    draft(slug, values) {
      const { id, at } = next();
      record(decideDraft(targetOf(slug), { id, actor: system, at }, values));
      return id;
    },
    change(slug, id, values, actor = system) {
      const defaults = targetOf(slug).isGlobal ? {} : null;
      record(decideDraftUpdate(targetOf(slug), { ...subjectOf(slug, id), actor }, { values, defaults }), actor);
    },
    publishDraft(slug, id) {
      record(decidePublish(targetOf(slug), subjectOf(slug, id), {}));
    },
    unpublish: (slug, id) => record(decideUnpublish(targetOf(slug), subjectOf(slug, id))),
    remove: (slug, id) => record(decideEnd(targetOf(slug), subjectOf(slug, id))),
    setGlobal: directory.setGlobal,
    record,
  };
}

/** Starts a service over a data directory in which `seed` has recorded documents. */
export async function startSeeded(
  t: TestContext,
  config: Config,
  seed: (seeding: Seeding) => void,
): Promise<HereService> {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data, { recursive: true });
  const directory = openDirectory(data, config, { seals: sealsIn(data) });
  seed(seedingOf(directory));
  directory.close();
  return startHere(t, config, { data });
}
