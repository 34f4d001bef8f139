import type { Model } from '../../../config/model.ts';
import {
  closed,
  count,
  described,
  flag,
  isFalse,
  isTrue,
  listOf,
  namesOf,
  nextNumber,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  time,
} from '../basics.ts';
import { errorSchemas } from '../error-components.ts';
import type { ApiSchema } from '../fields.ts';
import { actor, eventByRules, eventSchemas } from './event-components.ts';
import { historySchemas } from './history-components.ts';
import { proofSchemas, signingKeySchemas } from './proof-components.ts';

const slug = described(text, 'The slug of a collection, current or former.');

const taken = closed({
  versions: count,
  accountEvents: count,
  invitations: count,
  files: described(count, 'The number of stored files that are deleted.'),
  filesKept: described(count, 'The number of files that other documents need too.'),
  mails: described(count, 'The number of mails that are queued, or were caught.'),
});

const erasure = { position: place, recordedAt: time, collection: slug, id: text };
const erased = { ...erasure, erases: taken };
const waitsFor: Shape<'store' | 'data' | null> = { type: 'string', nullable: true, enum: ['store', 'data', null] };
const share: Shape<number> = { type: 'number', minimum: 0, maximum: 1 };
const record = {
  ...erasure,
  actor: refTo('Actor', actor),
  streams: listOf(closed({ stream: text, versions: place })),
  finished: flag,
  waitsFor,
  obstacle: described(orNull(text), 'The obstacle of the last attempt.'),
  progress: described(
    orNull(share),
    'The part of the data files that is free of the erased data; null if they are not being cleaned.',
  ),
};

const oneErasure = closed({ ...record, reason: described(text, 'The reason. Only with `payloads`.') }, namesOf(record));

const erasures = {
  Erase: closed({
    collection: slug,
    id: text,
    reason: {
      type: 'string',
      pattern: '\\S',
      description: 'The reason, 1 to 500 characters. It is kept for ever, so it must not name a person.',
    },
  }),
  Erased: closed({ ...erased, finished: isTrue }),
  ErasedSoFar: closed({ ...erased, finished: isFalse }),
  ErasureDryRun: closed({ collection: slug, id: text, dryRun: isTrue, erases: taken }),
  Erasure: oneErasure,
  Erasures: closed({ docs: listOf(refTo('Erasure', oneErasure)), next: nextNumber }),
};

/**
 * Every schema of the document of the audit routes by its name: but for one they are the same for every configuration.
 */
export function auditSchemasOf({ audit }: Model): Record<string, ApiSchema> {
  return audit ? auditSchemas : { ...auditSchemas, RecordedEvent: eventByRules };
}

/** The schemas of the audit routes by their names. */
export const auditSchemas = {
  ...errorSchemas,
  ...eventSchemas,
  ...historySchemas,
  ...proofSchemas,
  ...signingKeySchemas,
  ...erasures,
};
