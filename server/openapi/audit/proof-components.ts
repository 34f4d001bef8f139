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
  'The position up to which the background verification last found no fault, and the time; null before its first run.',
);
const altered = described(
  closed({
    finding: text,
    from: orNull(place),
    to: orNull(place),
    at: time,
    part: described(
      choice(['log', 'tables']),
      '`log`: the log itself, which is then no longer signed; `tables`: its claims or read tables, which are derived from it.',
    ),
  }),
  'Present if the service has found that the log or its tables were altered, until `annals verify` finds everything ' +
    'sound: the finding in words, and the range of events in which the first altered one is, or null if it is not known.',
);

const checkpoint = closed({ size: place, root: base64, note: text, signedAt: time });
const newestCheckpoints: Shape<ValueOf<typeof checkpoint>[]> = {
  type: 'array',
  maxItems: 10,
  items: checkpoint,
  description: 'The newest checkpoints, newest first.',
};

const log = {
  origin: text,
  verifierKey: described(text, 'The key that verifies the checkpoints of the log (C2SP signed-note).'),
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
  return orNull(closed({ ...always, reason: described(text, 'The reason. Only with `payloads`.') }, namesOf(always)));
}

const signedTree = orNull(closed({ size: count, signedAt: time }));
const keyId: Shape<string> = { type: 'string', pattern: '^[0-9a-f]{8}$' };

const key = closed({
  id: described(keyId, 'Eight hexadecimal digits, as in the verifier key and in each signature.'),
  verifierKey: described(orNull(text), 'The verifier key (C2SP signed-note); null if it is lost.'),
  signs: described(flag, 'Whether the key signs now.'),
  since: described(keyNote({}), 'The event with which the key began to sign; null for the first key.'),
  first: described(signedTree, 'The first checkpoint with its signature that the log keeps.'),
  last: described(signedTree, 'The last one.'),
  replaced: described(
    keyNote({
      by: keyId,
      handover: described(orNull(text), 'The hand-over, if this key named the next one itself.'),
    }),
    'The event with which another key replaced this one.',
  ),
  disowned: described(
    keyNote({ signed: described(orNull(count), 'The largest number of events that the key is known to have signed.') }),
    'The event that disowned the key: events that it signed are lost.',
  ),
});

/** The schemas of the keys that signed the log. */
export const signingKeySchemas = { Key: key, Keys: closed({ keys: listOf(refTo('Key', key)) }) };
