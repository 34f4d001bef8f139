import {
  anyObject,
  anything,
  choice,
  closed,
  count,
  described,
  either,
  flag,
  isTrue,
  listOf,
  namesOf,
  nextNumber,
  nothing,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  time,
} from '../basics.ts';
import { actor, eventType, seenEvent } from './event-components.ts';

const gone = described(isTrue, 'Present if the payload was erased.');
const withheld = described(isTrue, 'Present if the event is about a draft that the caller may not see.');
const reason = described(orNull(text), 'The reason that the caller gave, or null. Only with `payloads`.');
const rule = described(
  text,
  'The rule that admitted the event, such as `posts.update`, if the event names one. Only with `payloads`.',
);

const subject = described(
  closed({
    stream: text,
    exists: described(flag, 'Whether the subject exists today.'),
    erased: flag,
    version: described(place, 'The version of the newest event.'),
    position: place,
  }),
  'Its current state.',
);

const whatHappened = {
  version: place,
  position: place,
  type: refTo('EventType', eventType),
  recordedAt: time,
  actor: refTo('Actor', actor),
};
const changed = described(listOf(text), 'Top-level fields, by their names of today. Only with `payloads`.');
const entry = closed({ ...whatHappened, reason, rule, changed, erased: gone, withheld }, namesOf(whatHappened));
const accountEntry = closed({ ...whatHappened, reason, rule, erased: gone }, namesOf(whatHappened));

const subjectRef = refTo('Subject', subject);

/** The versions of a document or global, whose state is the member of that name. */
function historyOf<Name extends string>(name: Name) {
  const state = { [name]: subjectRef } as Record<Name, typeof subjectRef>;
  return closed({ ...state, docs: listOf(refTo('Version', entry)), next: nextNumber });
}

/** The versions of an account or invitation, whose state is the member of that name. */
function accountHistoryOf<Name extends string>(name: Name) {
  const state = { [name]: subjectRef } as Record<Name, typeof subjectRef>;
  return closed({ ...state, docs: listOf(refTo('AccountVersion', accountEntry)), next: nextNumber });
}

const thatVersion = { stream: text, version: place, position: place };
const documentVersion = closed(
  {
    ...thatVersion,
    document: described(
      orNull(anyObject),
      'The whole document after the event, in the names and fields of that time; null if there was none. With drafts, ' +
        'the newest state for a caller who may see drafts, else the public one.',
    ),
    published: described(orNull(anyObject), 'Where there are drafts: its public state, null if nothing was public.'),
    erased: gone,
    event: seenEvent,
  },
  [...namesOf(thatVersion), 'document', 'event'],
);

const admitting = closed({
  name: described(text, 'Such as `posts.update`, or `posts.update (default)` if no rule was set.'),
  sha256: described(
    orNull({ ...text, pattern: '^[0-9a-f]{64}$' }),
    'The hash of the text of the rule; null if there was none.',
  ),
  description: described(orNull(text), 'The description by the author of the rule.'),
  schema: described(count, 'The position of the `schema.changed` that was in force.'),
});

const actingUser = {
  ...thatVersion,
  document: described(
    orNull(anyObject),
    'The user document right before the event, in the names and fields of that time.',
  ),
};
const admission = {
  stream: text,
  ...whatHappened,
  rule: described(orNull(admitting), 'The rule that admitted the event; null if the event names none.'),
  user: described(
    orNull(closed({ ...actingUser, erased: gone, withheld: isTrue }, namesOf(actingUser))),
    'Null if the actor is not a user, or became one by this event.',
  ),
};

const operation = either(
  closed({ op: choice(['add', 'replace']), path: text, value: anything }),
  closed({ op: choice(['remove']), path: text }),
);

const versionOrNone = either(refTo('Version', entry), nothing);
const fieldChanges = listOf(closed({ field: text, before: anything, after: anything }));
const patch = described(listOf(refTo('PatchOperation', operation)), 'A JSON Patch (RFC 6902).');
const ends = { from: versionOrNone, to: versionOrNone };
const globalDiff = { global: subjectRef, ...ends, fields: fieldChanges, patch };
const documentDiff = { document: subjectRef, ...ends, fields: orNull(fieldChanges), patch: orNull(patch) };

const noVersion: Shape<null> = { type: 'integer', nullable: true, enum: [null] };
const blamedEvent = closed({ ...whatHappened, reason, rule }, ['reason', ...namesOf(whatHappened)]);
const publishedBy = described(
  either(refTo('BlamedEvent', blamedEvent), nothing),
  'In a history with drafts: the event that made the value public; null if it is not public.',
);
const blameField = described(
  either(
    closed({ field: text, value: anything, ...whatHappened, reason, rule, published: publishedBy }, [
      'field',
      'value',
      'reason',
      ...namesOf(whatHappened),
    ]),
    closed({ field: text, value: anything, version: noVersion, published: publishedBy }, ['field', 'value', 'version']),
  ),
  'A field, its value, and the event that set it; `version` is null if no event did.',
);

function blameOf<Name extends string>(name: Name) {
  const state = { [name]: subjectRef } as Record<Name, typeof subjectRef>;
  return closed({ ...state, version: place, fields: listOf(refTo('BlameField', blameField)) });
}

/** The schemas of histories, of versions and of what is between them. */
export const historySchemas = {
  Subject: subject,
  Version: entry,
  AccountVersion: accountEntry,
  DocumentHistory: historyOf('document'),
  GlobalHistory: historyOf('global'),
  AccountHistory: accountHistoryOf('account'),
  InvitationHistory: accountHistoryOf('invitation'),
  DocumentThen: documentVersion,
  AccountThen: closed({ ...thatVersion, event: seenEvent }),
  Admission: closed({ ...admission, erased: gone, withheld }, namesOf(admission)),
  PatchOperation: operation,
  DocumentDiff: described(
    closed({ ...documentDiff, erased: gone }, namesOf(documentDiff)),
    '`fields` and `patch` are null if one of the two versions was erased.',
  ),
  GlobalDiff: closed(globalDiff),
  BlamedEvent: blamedEvent,
  BlameField: blameField,
  DocumentBlame: blameOf('document'),
  GlobalBlame: blameOf('global'),
};
