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
import { type Schema, schemaRef } from '../fields.ts';

const anything: Schema = {};
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

/** The schemas of histories, of versions and of what is between them. */
export const historySchemas: Record<string, Schema> = {
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
