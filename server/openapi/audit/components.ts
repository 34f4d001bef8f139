import {
  closed,
  count,
  cursor,
  described,
  flag,
  isTrue,
  listOf,
  nothing,
  orNull,
  place,
  text,
  time,
} from '../basics.ts';
import { errorSchemas } from '../components.ts';
import { type Schema, schemaRef } from '../fields.ts';
import { eventSchemas } from './event-components.ts';

const base64: Schema = { type: 'string', format: 'byte' };
const hashes: Schema = listOf(base64);
const anything: Schema = {};
const slug: Schema = { type: 'string', description: 'The slug of a collection, of today or of earlier.' };

/** The refusal of a write, which may name documents or headers. */
const refusalOfWrite = closed(
  {
    statusCode: { type: 'integer' },
    error: text,
    message: text,
    errors: listOf(closed({ field: text, message: text })),
  },
  ['statusCode', 'error', 'message'],
);
/** The refusal of anything else but a wrong request, which alone names fields. */
const refusal = closed({ statusCode: { type: 'integer' }, error: text, message: text });

const gone = described(isTrue, 'Present where the payload has been erased.');
const reason = described(orNull(text), 'Why, as the caller said; null where nothing was said. Only with `payloads`.');
const rule = described(
  text,
  'Which rule admitted it, such as `posts.update`, where the event names one. Only with `payloads`.',
);

const state = closed({
  stream: text,
  exists: described(flag, 'Whether it is there today.'),
  erased: flag,
  version: described(place, 'That of the newest event.'),
  position: place,
});

const whatHappened = {
  version: place,
  position: place,
  type: schemaRef('EventType'),
  recordedAt: time,
  actor: schemaRef('Actor'),
};
const changed = described(listOf(text), 'Top-level fields, by their names of today. Only with `payloads`.');
const entry = closed({ ...whatHappened, reason, rule, changed, erased: gone }, Object.keys(whatHappened));
const accountEntry = closed({ ...whatHappened, reason, rule, erased: gone }, Object.keys(whatHappened));

/** The versions of a document, global, account or invitation: the first member is called so. */
function historyOf(name: string, entries: string): Schema {
  return closed({ [name]: schemaRef('Subject'), versions: listOf(schemaRef(entries)), next: cursor('after') });
}

const thatVersion = { stream: text, version: place, position: place };
const documentVersion = closed(
  {
    ...thatVersion,
    document: described(
      orNull({ type: 'object' }),
      'The whole document after that event, in the names and fields of that time; null where there was none.',
    ),
    erased: gone,
    event: { oneOf: [schemaRef('RecordedEvent'), schemaRef('ErasedEvent')] },
  },
  [...Object.keys(thatVersion), 'document', 'event'],
);

const admitting = closed({
  name: described(text, 'Such as `posts.update`, or `posts.update (default)` where no rule was set.'),
  sha256: described(orNull({ type: 'string', pattern: '^[0-9a-f]{64}$' }), 'Of the text of the rule; null of none.'),
  description: described(orNull(text), 'The description by the author of the rule.'),
  schema: described(count, 'The position of the `schema.changed` that held then.'),
});

const actingUser = {
  ...thatVersion,
  document: described(orNull({ type: 'object' }), 'The user right before, in the names and fields of that time.'),
};
const admission = {
  stream: text,
  ...whatHappened,
  rule: { ...orNull(admitting), description: 'The rule that admitted it; null where the event names none.' },
  user: {
    ...orNull(closed({ ...actingUser, erased: gone, withheld: isTrue }, Object.keys(actingUser))),
    description: 'Null where the actor is not a user, or became one by this event.',
  },
};

const operation = {
  oneOf: [
    closed({ op: { type: 'string', enum: ['add', 'replace'] }, path: text, value: anything }),
    closed({ op: { type: 'string', enum: ['remove'] }, path: text }),
  ],
};

const versionOrNone = { oneOf: [schemaRef('Version'), nothing] };
const fieldChanges = listOf(closed({ field: text, before: anything, after: anything }));
const patch = described(listOf(schemaRef('PatchOperation')), 'A JSON Patch (RFC 6902).');
const ends = { from: versionOrNone, to: versionOrNone };
const globalDiff = { global: schemaRef('Subject'), ...ends, fields: fieldChanges, patch };
const documentDiff = { document: schemaRef('Subject'), ...ends, fields: orNull(fieldChanges), patch: orNull(patch) };

const blameField = {
  oneOf: [
    closed({ field: text, value: anything, ...whatHappened, reason, rule }, [
      ...['field', 'value', 'reason'],
      ...Object.keys(whatHappened),
    ]),
    closed({ field: text, value: anything, version: { type: 'integer', nullable: true, enum: [null] } }),
  ],
  description: 'A field, its value, and the event that gave it; `version` is null where none ever did.',
};

function blameOf(name: string): Schema {
  return closed({ [name]: schemaRef('Subject'), version: place, fields: listOf(schemaRef('BlameField')) });
}

const histories: Record<string, Schema> = {
  Subject: { ...state, description: 'Its current state.' },
  Version: entry,
  AccountVersion: accountEntry,
  DocumentHistory: historyOf('document', 'Version'),
  GlobalHistory: historyOf('global', 'Version'),
  AccountHistory: historyOf('account', 'AccountVersion'),
  InvitationHistory: historyOf('invitation', 'AccountVersion'),
  DocumentThen: documentVersion,
  AccountThen: closed({ ...thatVersion, event: { oneOf: [schemaRef('RecordedEvent'), schemaRef('ErasedEvent')] } }),
  Admission: closed({ ...admission, erased: gone }, Object.keys(admission)),
  PatchOperation: operation,
  DocumentDiff: {
    ...closed({ ...documentDiff, erased: gone }, Object.keys(documentDiff)),
    description: '`fields` and `patch` are null where one of the two versions has been erased.',
  },
  GlobalDiff: closed(globalDiff),
  BlameField: blameField,
  DocumentBlame: blameOf('document'),
  GlobalBlame: blameOf('global'),
};

const verified = {
  ...orNull(closed({ to: count, at: time })),
  description:
    'Up to which position the service, which goes through the whole log again and again, last found nothing wrong, and when; ' +
    'null before the first time.',
};
const altered = {
  ...closed({ finding: text, from: orNull(place), to: orNull(place), at: time }),
  description:
    'Stands, until the restart, where the service has found that the log is not what was recorded: in words, and among which events ' +
    'the first of it is; null where that is not known.',
};

const log = {
  origin: text,
  verifierKey: described(text, 'The key by which its checkpoints are checked (C2SP signed-note).'),
  size: place,
  root: base64,
  recordedAt: described(time, 'The time of the last event.'),
  verified,
  checkpoints: {
    type: 'array',
    maxItems: 10,
    items: closed({ size: place, root: base64, note: text, signedAt: time }),
    description: 'The newest ones, newest first.',
  },
};

const proofs: Record<string, Schema> = {
  Log: closed({ ...log, altered }, Object.keys(log)),
  InclusionProof: closed({
    position: place,
    index: count,
    size: place,
    header: schemaRef('Header'),
    leaf: base64,
    proof: hashes,
    checkpoint: described(text, 'A signed note (C2SP tlog-checkpoint).'),
  }),
  Stamps: closed({
    stamped: listOf(
      closed({
        size: place,
        checkpoint: described(
          text,
          'A signed note (C2SP tlog-checkpoint), with the lines of witnesses (C2SP tlog-cosignature).',
        ),
        tokens: listOf(
          closed({ authority: text, token: described(text, 'A time-stamp token (RFC 3161), in base64.') }),
        ),
      }),
    ),
  }),
  ConsistencyProof: closed({ from: count, to: count, fromRoot: base64, toRoot: base64, proof: hashes }),
};

/** The members of an event about a key. */
function keyNote(more: Record<string, Schema> = {}): Schema {
  const told = { position: place, recordedAt: time, actor: schemaRef('Actor'), ...more };
  const members = { ...told, reason: described(text, 'Why. Only with `payloads`.') };
  return orNull(closed(members, Object.keys(told)));
}

const signedTree = orNull(closed({ size: count, signedAt: time }));
const keyId: Schema = { type: 'string', pattern: '^[0-9a-f]{8}$' };

const keys: Record<string, Schema> = {
  Key: closed({
    id: described(keyId, 'Eight hexadecimal digits, as in the verifier key and in each signature.'),
    verifierKey: described(orNull(text), 'The verifier key (C2SP signed-note); null where it is lost.'),
    signs: described(flag, 'Whether it signs now.'),
    since: described(keyNote(), 'The event by which it began to sign; null for the first key.'),
    first: described(signedTree, 'The first checkpoint of it that the log keeps.'),
    last: described(signedTree, 'The last one.'),
    replaced: described(
      keyNote({
        by: keyId,
        handover: described(orNull(text), 'The hand-over, if this key named the next one itself.'),
      }),
      'The event by which another one took its place.',
    ),
    disowned: described(
      keyNote({ signed: described(orNull(count), 'The most events that it is known to have signed.') }),
      'The event by which it was given up: events that it signed are lost.',
    ),
  }),
  Keys: closed({ keys: listOf(schemaRef('Key')) }),
};

const taken = closed({
  versions: count,
  accountEvents: count,
  invitations: count,
  files: described(count, 'Stored files that go.'),
  filesKept: described(count, 'Those that other documents need too.'),
  mails: described(count, 'Those that wait, or were caught.'),
});

const erasure = { position: place, recordedAt: time, collection: slug, id: text };
const erased = { ...erasure, erases: taken };
const record = {
  ...erasure,
  actor: schemaRef('Actor'),
  streams: listOf(closed({ stream: text, versions: place })),
  finished: flag,
  waitsFor: { ...orNull({ type: 'string' }), enum: ['store', 'data', null] },
  obstacle: described(orNull(text), 'The obstacle of the last try.'),
};

const erasures: Record<string, Schema> = {
  Erase: closed({
    collection: slug,
    id: text,
    reason: {
      type: 'string',
      pattern: '\\S',
      description: 'Why, in 1 to 500 characters. It is kept for ever, so it must not name a person.',
    },
  }),
  Erased: closed({ ...erased, finished: isTrue }),
  ErasedSoFar: closed({ ...erased, finished: { type: 'boolean', enum: [false] } }),
  ErasureDryRun: closed({ collection: slug, id: text, dryRun: isTrue, erases: taken }),
  Erasure: closed({ ...record, reason: described(text, 'Why. Only with `payloads`.') }, Object.keys(record)),
  Erasures: closed({ erasures: listOf(schemaRef('Erasure')), next: cursor('before') }),
};

const undone = {
  collection: slug,
  ...{ index: described(count, 'Its place in the call, from 0.'), id: text },
  version: described(place, 'The version after the call.'),
  outcome: { type: 'string', enum: ['deleted', 'restored', 'updated', 'unchanged'] },
};

const undoing: Record<string, Schema> = {
  Undo: closed(
    {
      force: described(flag, 'True: also where documents have changed since.'),
      dryRun: described(flag, 'True: nothing is done, and the answer tells what would be.'),
    },
    [],
  ),
  Undone: closed({
    matched: described(count, 'How many documents it is about.'),
    changed: described(count, 'How many of them are not as they were; with `dryRun`: would not be.'),
    results: listOf(closed(undone)),
    batch: described(orNull(text), 'The id in each event of this call; null where nothing was recorded.'),
  }),
  Refusal: refusalOfWrite,
};

/** Every schema of the document of the audit routes by its name: they are the same for every configuration. */
export const auditSchemas: Record<string, Schema> = {
  ...errorSchemas,
  Error: refusal,
  ...eventSchemas,
  ...histories,
  ...proofs,
  ...keys,
  ...erasures,
  ...undoing,
};
