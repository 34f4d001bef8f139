import {
  choice,
  closed,
  count,
  described,
  flag,
  listOf,
  namesOf,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  time,
  type ValueOf,
} from '../basics.ts';
import { actor, eventSchemas } from './event-components.ts';

const base64: Shape<string> = { type: 'string', format: 'byte' };
const hashes = listOf(base64);
const verified = described(
  orNull(closed({ to: count, at: time })),
  'Up to which position the service, which goes through the whole log again and again, last found nothing wrong, and when; ' +
    'null before the first time.',
);
const altered = described(
  closed({
    finding: text,
    from: orNull(place),
    to: orNull(place),
    at: time,
    part: described(
      choice(['log', 'tables']),
      '`log`: the log itself, which is not signed then; `tables`: its claims or read tables, which follow from it.',
    ),
  }),
  'Stands, until `annals verify` finds all sound, where the service has found that the log is not what was recorded: in words, and ' +
    'among which events the first of it is; null where that is not known.',
);

const checkpoint = closed({ size: place, root: base64, note: text, signedAt: time });
const newestCheckpoints: Shape<ValueOf<typeof checkpoint>[]> = {
  type: 'array',
  maxItems: 10,
  items: checkpoint,
  description: 'The newest ones, newest first.',
};

const log = {
  origin: text,
  verifierKey: described(text, 'The key by which its checkpoints are checked (C2SP signed-note).'),
  size: place,
  root: base64,
  recordedAt: described(time, 'The time of the last event.'),
  verified,
  checkpoints: newestCheckpoints,
};

/** The schemas of the log and its proofs. */
export const proofSchemas = {
  Log: closed({ ...log, altered }, namesOf(log)),
  InclusionProof: closed({
    position: place,
    index: count,
    size: place,
    header: refTo('Header', eventSchemas.Header),
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
function keyNote<More extends Record<string, Shape<unknown>>>(more: More) {
  const always = { position: place, recordedAt: time, actor: refTo('Actor', actor), ...more };
  return orNull(closed({ ...always, reason: described(text, 'Why. Only with `payloads`.') }, namesOf(always)));
}

const signedTree = orNull(closed({ size: count, signedAt: time }));
const keyId: Shape<string> = { type: 'string', pattern: '^[0-9a-f]{8}$' };

const key = closed({
  id: described(keyId, 'Eight hexadecimal digits, as in the verifier key and in each signature.'),
  verifierKey: described(orNull(text), 'The verifier key (C2SP signed-note); null where it is lost.'),
  signs: described(flag, 'Whether it signs now.'),
  since: described(keyNote({}), 'The event by which it began to sign; null for the first key.'),
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
});

/** The schemas of the keys that signed the log. */
export const signingKeySchemas = { Key: key, Keys: closed({ keys: listOf(refTo('Key', key)) }) };
