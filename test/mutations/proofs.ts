// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of sources
import type { Mutation } from './mutation.ts';

const proofs = 'test/events/proofs.test.ts';
const tampering = 'test/projections/verify.test.ts';
const bundles = 'test/verify/bundles.test.ts';

/** Faults of the tree, its proofs and signatures, and of what verifies them. */
export const proofMutations: readonly Mutation[] = [
  {
    what: 'An event is hashed without the prefix of a leaf, so that a node could be shown as one.',
    file: 'events/proof/merkle.ts',
    text: '`\\0${entry}`',
    replacement: 'entry',
    test: { file: 'test/events/merkle.test.ts', name: 'hashes an entry given as text as its bytes in UTF-8' },
  },
  {
    what: 'Bytes are hashed without the prefix of a leaf, so that a node could be shown as one.',
    file: 'events/proof/merkle.ts',
    text: 'const leafPrefix = Buffer.from([0]);',
    replacement: 'const leafPrefix = Buffer.from([]);',
    test: {
      file: 'test/events/merkle.test.ts',
      name: 'gives the published root for each of the published leaves, and so does the naive implementation here',
    },
  },
  {
    what: 'Payloads are committed to without their domain.',
    file: 'events/facts/envelope.ts',
    text: "typeof body === 'string' ? payloadDomain + body :",
    replacement: "typeof body === 'string' ? body :",
    test: {
      file: 'test/events/envelope.test.ts',
      name: 'is committed to by SHA-256 over "annals-payload-v1", a zero byte and its bytes',
    },
  },
  {
    what: 'A proof of consistency from a whole subtree has a hash too many.',
    file: 'events/proof/proofs.ts',
    text: 'if (first <= middle) return',
    replacement: 'if (first < middle) return',
    test: {
      file: proofs,
      name: 'are made and accepted by an independent implementation, which also sends the root that is known',
    },
  },
  {
    what: 'A proof of inclusion has its hashes in the wrong order.',
    file: 'events/proof/proofs.ts',
    text: 'return [...path(at, start, middle), rootIn(middle, end)];',
    replacement: 'return [rootIn(middle, end), ...path(at, start, middle)];',
    test: {
      file: proofs,
      name: 'are those of the definition for every leaf, and hold, in trees across the borders of tiles',
    },
  },
  {
    what: 'The code that seals a head does not cover its root.',
    file: 'events/proof/seals.ts',
    text: "JSON.stringify({ log, recordedAt, root: root.toString('hex'), size });",
    replacement: "JSON.stringify({ log, recordedAt, root: root.toString('hex', 0, 0), size });",
    test: { file: 'test/events/seals.test.ts', name: 'is the one of the documents, under a key of 32 zero bytes' },
  },
  {
    what: 'A log is opened whose head no vault has sealed.',
    file: 'events/proof/seals.ts',
    text: 'return head.mac?.length === 32 && timingSafeEqual(head.mac, macOf(sealKeyOf(key), head));',
    replacement: 'return head.mac?.length === 32;',
    test: {
      file: 'test/events/log.test.ts',
      name: 'refuses to open when its newest events, its head or its tiles do not belong together, and records nothing',
    },
  },
  {
    what: 'A note is believed whose signature does not fit.',
    file: 'events/proof/notes.ts',
    text: "if (!verifier.check(parsed?.text ?? '', signature)) return null;",
    replacement: '',
    test: { file: 'test/events/notes.test.ts', name: 'are not believed once a character of them is another' },
  },
  {
    what: 'The log signs against what its key has signed before.',
    file: 'server/audit/notary/head-signing.ts',
    text: 'if (now?.equals(earlier.root)) return;',
    replacement: 'if (now) return;',
    test: {
      file: 'test/audit/notary/signing.test.ts',
      name: 'never signs against what its key has signed, and says so once',
    },
  },
  {
    what: 'annals verify does not notice an altered payload.',
    file: 'events/log/event-checks.ts',
    text: "return isCommitted ? null : 'its payload is not the one committed to';",
    replacement: "return isCommitted || body !== null ? null : 'its payload is not the one committed to';",
    test: { file: tampering, name: 'is found when two payloads are swapped, and the first is named' },
  },
  {
    what: 'annals verify does not notice a payload that is gone.',
    file: 'events/verify/verify-rows.ts',
    text: 'return [isErased, isLeftOut, isErasedNow].some((is) => is(row)) ? header : `${at}: its payload is missing`;',
    replacement: 'return header;',
    test: {
      file: tampering,
      name: 'is found when a payload is gone, added, made a number or marked as encrypted',
    },
  },
  {
    what: 'annals verify takes times that go back.',
    file: 'events/verify/verify-rows.ts',
    text: 'if (header.recordedAt < last && header.stream !== clockStream)',
    replacement: "if (header.recordedAt === '')",
    test: {
      file: tampering,
      name: 'is found if a time goes back or a version is missing, though the head was put right',
    },
  },
  {
    what: 'The verifier believes a checkpoint whose signature does not fit.',
    file: 'verify/annals-verify.mjs',
    text: 'must(isValid, `${what} is not what the key',
    replacement: 'must(isValid || true, `${what} is not what the key',
    test: { file: bundles, name: 'rejects a larger size, its signature kept' },
  },
  {
    what: 'The verifier takes a payload that its header does not commit to.',
    file: 'verify/annals-verify.mjs',
    text: 'must(commitment === header.payload,',
    replacement: 'must(commitment !== null,',
    test: { file: bundles, name: 'rejects a swapped payload' },
  },
  {
    what: 'The verifier takes an event for one of the log whose proof does not lead to the root.',
    file: 'verify/annals-verify.mjs',
    text: 'must(root?.equals(checkpoint.root), `${name}: its proof',
    replacement: 'must(root, `${name}: its proof',
    test: { file: bundles, name: 'rejects the proof of another event' },
  },
  {
    what: 'The verifier takes a proof of consistency that does not give the root of the earlier tree.',
    file: 'verify/annals-verify.mjs',
    text: 'return last === 0 && firstRoot.equals(first.root) && secondRoot.equals(second.root);',
    replacement: 'return last === 0 && secondRoot.equals(second.root);',
    test: {
      file: 'test/verify/compare.test.ts',
      name: 'finds no log to go on from what it was not, whatever proof it gives, and asks again',
    },
  },
];
