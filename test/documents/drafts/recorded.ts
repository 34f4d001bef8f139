import type { Config } from '../../../config/define.ts';
import { categoryOf, dataFields, type JsonObject } from '../../../config/schema.ts';
import { globalStream } from '../../../events/facts/catalogue.ts';
import { uniqueFields } from '../../../events/facts/claims.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import {
  decideDiscard,
  decideDraft,
  decideDraftUpdate,
  decideEnd,
  decideLineRestore,
  decidePublicCreate,
  decidePublicUpdate,
  decidePublish,
  decideUnpublish,
  type LinesNow,
} from '../../../events/facts/line-decisions.ts';
import { type Lines, noLines } from '../../../events/facts/lines.ts';
import type { Change, NewEvent } from '../../../events/facts/log.ts';
import { openLines } from '../../../projections/query/lines.ts';
import { type Tables, tablesOf } from '../../../projections/tables/tables.ts';
import { sealsIn } from '../../events/logs.ts';
import { type Directory, openDirectory, setClockTo } from '../../projections/directory.ts';

/** Writes the lines of one document straight into a log; each call gives the version of the stream after it. */
export type Writer = ReturnType<typeof writerOf>;

/** Options of a write: who makes it, why, and the bulk call that it is of. */
type How = { by?: string; why?: string; batch?: string };

type LineTarget = Parameters<typeof decidePublish>[0];
type Publication = Parameters<typeof decidePublish>[2];

/** Opens a data directory in which a service can be started before and afterwards. */
export function openLined(data: string, config: Config): Directory {
  setClockTo(Date.now());
  return openDirectory(data, config, { seals: sealsIn(data), logId: 'annals/01970000-0000-7000-8000-000000000000' });
}

/** The id of the next document in tests: any that sorts. */
let made = 0;

/** Writes the lines of a document of a collection, or of a global `globals/<slug>`. */
export function writerOf(directory: Directory, slug: string, given?: string) {
  const { schema, reader } = directory;
  const isGlobal = slug.startsWith('globals/');
  made += 1;
  const id = isGlobal
    ? slug.slice('globals/'.length)
    : (given ?? `01970000-0000-7000-8000-${String(made).padStart(12, '0')}`);
  const collection = schema.collections.find((one) => one.slug === slug);
  const category = collection ? categoryOf(collection) : ('globals' as LineTarget['category']);
  const target: LineTarget = {
    category,
    unique: collection ? uniqueFields(category, dataFields(collection.fields)) : [],
    isGlobal,
  };
  const key = isGlobal ? globalStream(id) : category;
  const tables = tablesOf(schema).find((one) => one.key === key) as Tables;
  const lines = openLines(reader, tables, tables.drafts as Tables);
  let at = Date.now();

  function write(decide: (now: LinesNow, actor: Actor, at: number) => Change | null, { by, why, batch }: How): number {
    at += 1000;
    const actor: Actor = by === undefined ? { type: 'system' } : { type: 'user', id: by };
    const change = decide(lines(id), actor, at);
    if (change) {
      const context = why === undefined ? {} : { reason: why };
      directory.record(change, { actor, context, ...(batch !== undefined && { batch }) });
    }
    return lines(id).head;
  }

  const subject = (now: LinesNow, actor: Actor, time: number) => ({ id, now, actor, at: time });
  const more = (event: NewEvent, how: How) =>
    write(
      (now) => ({ stream: `${category}/${id}`, expectedVersion: now.head, events: [event], claims: [], releases: [] }),
      how,
    );

  return {
    id,
    stream: `${category}/${id}`,
    lines: () => lines(id),
    draft: (values: JsonObject, how: How = {}) =>
      write((_now, actor, time) => decideDraft(target, { id, actor, at: time }, values), how),
    create: (values: JsonObject, how: How = {}) =>
      write((_now, actor, time) => decidePublicCreate(target, { id, actor, at: time }, values), how),
    save: (values: JsonObject, how: How = {}) =>
      write((...of) => decideDraftUpdate(target, subject(...of), { values }), how),
    patch: (values: JsonObject, how: How = {}) =>
      write((...of) => decidePublicUpdate(target, subject(...of), { values }), how),
    publish: (publication: Publication = {}, how: How = {}) =>
      write((...of) => decidePublish(target, subject(...of), publication), how),
    unpublish: (how: How = {}) => write((...of) => decideUnpublish(target, subject(...of)), how),
    discard: (how: How = {}) => write((...of) => decideDiscard(target, subject(...of), null), how),
    restore: (document: JsonObject, isDraft: boolean, how: How = {}) =>
      write((...of) => {
        const source = { version: 1, position: 1 };
        return decideLineRestore(target, subject(...of), { source, document, isDraft });
      }, how),
    remove: (how: How = {}) => write((...of) => decideEnd(target, subject(...of)), how),
    review: (type: 'requested' | 'withdrawn' | 'refused', data: JsonObject, how: How = {}) =>
      more({ type: `review.${type}`, data }, how),
  };
}

/** The lines as they are now, without what is beside them, as a source of a publication. */
export function sourceOf(version: number, { published, draft, editors, review }: Lines = noLines) {
  return { version, lines: { published, draft, editors, review } };
}
