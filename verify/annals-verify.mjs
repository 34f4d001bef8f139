#!/usr/bin/env node
// @ts-check
/*
 * annals-verify: checks what an Annals log shows of itself, and trusts neither the server nor its code.
 *
 * One file, Node 22.2 or newer (22.16 for log.db), nothing but Node's own modules, no network, nothing is written but
 * what --summary, --csv and --tokens name. It shares no line with the service: a mistake there is not repeated here.
 * Read it from the top; each part uses only what stands above it.
 *
 * Contents; search for "// 7." to come to part 7:
 *
 *    1. Errors and words
 *    2. Bytes, texts and JSON, strictly
 *    3. The tree
 *    4. Keys and checkpoints
 *    5. One event
 *    6. Events in their order
 *    7. Documents, made of their events
 *    8. Earlier checkpoints
 *    9. Texts for readers, made again
 *   10. Bundles
 *   11. Exports
 *   12. A copy of log.db
 *   13. Two checkpoints
 *   14. Files, folders and ZIP archives: only read, never unpacked
 *   15. The command
 *
 * Parts 3 to 8 decide, a third of the file. Part 9 makes again what people read of them. Parts 10 to 13 say which of it
 * a bundle, an export, a log.db and two checkpoints have to pass: read the one that you need. Parts 1, 2, 14 and 15 are
 * texts, files and the command; a ZIP is read as strictly as all else.
 *
 *   node annals-verify.mjs [options] PATH
 *   node annals-verify.mjs [options] compare A B [PROOF]
 *
 * PATH is a bundle (.zip or its unpacked folder), an export (.zip or folder), a copy of log.db, or a checkpoint; A and
 * B are two checkpoints, PROOF shows that the larger one continues the smaller one.
 *
 * Its foundations, all of them published:
 *   - the tree over the headers of all events: RFC 6962, section 2.1; its proofs: RFC 9162, sections 2.1.3.2 and
 *   2.1.4.2
 *   - canonical headers: RFC 8785; signatures: Ed25519, RFC 8032
 *   - signed notes and checkpoints: C2SP signed-note and tlog-checkpoint
 *   - what the events say: docs/events.md and docs/log-format.md of Annals
 *
 * Exit: 0 sound; 1 not sound: what is shown contradicts what was signed, or itself; 2 it could not be decided:
 * something is missing (a key, a proof, a file), or older than what was kept; wrong usage, unreadable, another format.
 * 1 goes before 2.
 */
import { isUtf8 } from 'node:buffer';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import zlib from 'node:zlib';

const usage = `Usage: node annals-verify.mjs [options] PATH
       node annals-verify.mjs [options] compare A B [PROOF]

PATH is a bundle or an export (.zip, or the unpacked folder), a copy of log.db, or a checkpoint, to be compared with kept ones.
A and B are two signed checkpoints, PROOF the answer of GET /api/audit/consistency from the smaller to the larger.

  --key VKEY          the verifier key of the log, name+hash+key, which you got from elsewhere; may be repeated
  --key-file FILE     the same, from a file
  --checkpoint FILE   a checkpoint that you kept from before: what is shown must continue it; may be repeated
  --checkpoints DIR   all checkpoints of a folder, such as a copy of the anchored ones
  --proof FILE        the answer of GET /api/audit/consistency from PATH to a kept checkpoint, or from it to PATH; may be repeated
  --files DIR         with log.db: the folder of uploaded files, blobs/, to be compared with the events
  --at TIME           with a bundle: tell what was public at a time, such as 2026-11-20T12:00:00Z
  --summary FILE      with a bundle: write the page for readers, made of what is proven
  --csv FILE          with an export: write the events as CSV, made of what is proven
  --handovers FILE    the answer of GET /api/audit/signing-keys, or one hand-over: keys that hand over lead from one to the next
  --witness VKEY      the verifier key of a witness, whose cosignatures then count; may be repeated
  --tokens DIR        write time-stamp tokens and what they are over to a folder, for openssl ts to check
  --trust-inside      take the key that the thing itself names: it is then sound in itself, and proves no origin
  --json              the result as JSON
  --version, --help

Exit: 0 sound · 1 not sound: it contradicts what was signed, or itself · 2 could not be decided: something is missing (a key, a
proof, a file), PATH is older than a kept checkpoint, or wrong usage, unreadable, another format.
`;

const version = '1.4.0';

// ---------------------------------------------------------------------------------------------------------------------
// 1. Errors and words
// ---------------------------------------------------------------------------------------------------------------------

/** The shown thing contradicts itself, or what was signed: exit 1. */
class NotSound extends Error {}

/** Nothing can be said about it, for something is missing, unreadable or unknown: exit 2. */
class Undecided extends Error {}

/**
 * @param {unknown} condition
 * @param {string} message what is wrong when it does not hold
 * @returns {asserts condition}
 */
function must(condition, message) {
  if (!condition) throw new NotSound(message);
}

/**
 * @param {unknown} condition
 * @param {string} message why it cannot be decided when it does not hold
 * @returns {asserts condition}
 */
function decidable(condition, message) {
  if (!condition) throw new Undecided(message);
}

/**
 * A number with its noun. @param {number} count @param {string} one @param {string} many where it is not the noun with
 * an s
 */
function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * Text from outside as it may be printed: in quotes, no control characters, no end of the terminal's line. @param
 * {unknown} value
 */
function show(value) {
  const text = typeof value === 'string' ? value : String(JSON.stringify(value));
  const short = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  const plain = /^[\w/.@:+ -]*$/.test(short);
  return plain && text !== '' ? short : JSON.stringify(short).replace(/[^\x20-\x7e…]/g, escaped);
}

/** @param {string} character */
function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// ---------------------------------------------------------------------------------------------------------------------
// 2. Bytes, texts and JSON, strictly
// ---------------------------------------------------------------------------------------------------------------------

const MiB = 1024 * 1024;
/** Bounds on what is held in memory; what is larger cannot be decided. */
const limits = {
  json: 256 * MiB,
  note: 64 * 1024,
  header: 65_535,
  payload: 64 * MiB,
  entries: 100_000,
  total: 2 ** 40,
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} bytes @param {string} what */
function textOf(bytes, what) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new NotSound(`${what} is not UTF-8`);
  }
}

/** Base64 with padding, the one way in which these bytes are written. @param {unknown} text @param {string} what */
function fromBase64(text, what) {
  must(typeof text === 'string', `${what} is not base64`);
  const bytes = Buffer.from(text, 'base64');
  must(bytes.toString('base64') === text, `${what} is not base64`);
  return bytes;
}

/** @param {unknown} text @param {string} what */
function hashFrom(text, what) {
  const bytes = fromBase64(text, what);
  must(bytes.length === 32, `${what} is not a hash of 32 bytes`);
  return bytes;
}

/** @param {unknown} value @param {string} what @param {number} [most] @returns {Buffer[]} */
function hashesFrom(value, what, most = 64) {
  must(Array.isArray(value) && value.length <= most, `${what} is not a list of at most ${most} hashes`);
  return value.map((hash) => hashFrom(hash, what));
}

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/**
 * A whole number that JSON and JavaScript agree about. @param {unknown} value @param {number} least @returns {value is
 * number}
 */
function isWhole(value, least) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= least;
}

/**
 * Parses JSON that `JSON.stringify` wrote. To write it again finds what a parser passes over in silence: a name that
 * stands twice, of which different readers take a different one.
 *
 * @param {string} text
 * @param {string} what
 * @param {number[]} indents
 */
function parseExactly(text, what, indents = [0]) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NotSound(`${what} is not JSON`);
  }
  const isExact = indents.some((indent) => JSON.stringify(value, null, indent) === text);
  must(isExact, `${what} is not JSON as it is written: a name may stand in it twice`);
  return value;
}

/**
 * @param {Record<string, any>} value @param {string} what @param {{ required: string[], optional?: string[] }} members
 */
function checkMembers(value, what, { required, optional = [] }) {
  const unknown = Object.keys(value).find((name) => !required.includes(name) && !optional.includes(name));
  decidable(unknown === undefined, `${what} has ${show(unknown)}, which this verifier does not know`);
  const missing = required.find((name) => !Object.hasOwn(value, name));
  must(missing === undefined, `${what} has no ${missing}`);
}

// ---------------------------------------------------------------------------------------------------------------------
// 3. The tree
// ---------------------------------------------------------------------------------------------------------------------

/** @param {...Uint8Array} parts @returns {Buffer} */
function sha256(...parts) {
  return crypto.hash(
    'sha256',
    parts.length === 1 ? /** @type {Uint8Array} */ (parts[0]) : Buffer.concat(parts),
    'buffer',
  );
}

const leafPrefix = Buffer.of(0);
const nodePrefix = Buffer.of(1);

/** @param {Uint8Array} header */
function leafHash(header) {
  return sha256(leafPrefix, header);
}

/** @param {Buffer} left @param {Buffer} right */
function nodeHash(left, right) {
  return sha256(nodePrefix, left, right);
}

/** Sizes go beyond 32 bits, so they are halved and not shifted. @param {number} number */
function half(number) {
  return Math.floor(number / 2);
}

/** @param {number} number */
function isOdd(number) {
  return number % 2 === 1;
}

/**
 * The root that an inclusion proof gives for the leaf number `index` (from 0) of a tree of `size` leaves; null when the
 * proof does not have its form. RFC 9162, section 2.1.3.2.
 *
 * @param {{ index: number, size: number }} place
 * @param {Buffer} leaf
 * @param {Buffer[]} proof
 */
function rootFromInclusion({ index, size }, leaf, proof) {
  if (index >= size) return null;
  let node = index;
  let last = size - 1;
  let root = leaf;
  for (const hash of proof) {
    if (last === 0) return null;
    if (isOdd(node) || node === last) {
      root = nodeHash(hash, root);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      root = nodeHash(root, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 ? root : null;
}

/**
 * True when the tree of `size` leaves begins with the tree of `earlier` leaves. RFC 9162, section 2.1.4.2.
 *
 * @param {{ size: number, root: Buffer }} first
 * @param {{ size: number, root: Buffer }} second
 * @param {Buffer[]} proof
 */
function isConsistent(first, second, proof) {
  if (first.size > second.size) return false;
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root);
  if (first.size === 0) return proof.length === 0 && first.root.equals(growingTree(0, []).root());
  let node = first.size - 1;
  let last = second.size - 1;
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  // A first tree that is perfect is a node of the second, and no hash of the proof.
  const [start, ...rest] = node === 0 ? [first.root, ...proof] : proof;
  if (!start) return false;
  let firstRoot = start;
  let secondRoot = start;
  for (const hash of rest) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      firstRoot = nodeHash(hash, firstRoot);
      secondRoot = nodeHash(hash, secondRoot);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      secondRoot = nodeHash(secondRoot, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && firstRoot.equals(first.root) && secondRoot.equals(second.root);
}

/**
 * A tree that grows leaf by leaf, kept as the roots of its perfect subtrees, largest first: as many as `size` has ones
 * in binary.
 *
 * @param {number} size
 * @param {Buffer[]} subtrees
 */
function growingTree(size, subtrees) {
  const ones = size.toString(2).replaceAll('0', '').length;
  must(
    subtrees.length === ones,
    `a tree of ${counted(size, 'event')} is made of ${counted(ones, 'subtree')}, not of ${subtrees.length}`,
  );
  const stack = [...subtrees];

  /** @param {Buffer} leaf */
  function add(leaf) {
    let node = leaf;
    for (let rest = size; isOdd(rest); rest = half(rest)) node = nodeHash(/** @type {Buffer} */ (stack.pop()), node);
    stack.push(node);
    size += 1;
  }

  function root() {
    const last = stack.at(-1);
    if (!last) return sha256(Buffer.alloc(0));
    return stack.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
  }

  return { add, root, size: () => size };
}

// ---------------------------------------------------------------------------------------------------------------------
// 4. Keys and checkpoints
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @typedef {{ text: string, name: string, id: string, key: crypto.KeyObject, least?: number, most?: number }}
 * VerifierKey `least` and `most`: the sizes of what it signs, where it took over, or has handed over
 */
/**
 * @typedef {{ origin: string, size: number, root: Buffer, time: string | null, text: string }} Checkpoint `time` is
 * that of its signer
 */

/** The bytes before the 32 of an Ed25519 key in its usual form (RFC 8410). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex');

/** The types of keys: one that signs notes, and one that cosigns them and says when. */
const keyTypes = { log: 1, witness: 4 };

/**
 * A verifier key as C2SP signed-note writes it: `name+hash+key`; its hash is over name and key, so a slip of the pen is
 * found.
 *
 * @param {string} text
 * @param {number} [type]
 * @returns {VerifierKey | null}
 */
function parseKey(text, type = keyTypes.log) {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text) ?? [];
  if (name === undefined || id === undefined || encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded || bytes.length !== 33 || bytes[0] !== type) return null;
  if (
    sha256(Buffer.from(`${name}\n`), bytes)
      .subarray(0, 4)
      .toString('hex') !== id
  )
    return null;
  const der = Buffer.concat([ed25519Prefix, bytes.subarray(1)]);
  return { text, name, id, key: crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }) };
}

/**
 * Opens a signed checkpoint. Lines signed by keys that are not ours say nothing; one of ours must be there, and all of
 * ours hold.
 *
 * @param {unknown} text
 * @param {VerifierKey[]} keys none: the signature is not looked at
 * @param {string} what
 * @returns {Checkpoint}
 */
function openCheckpoint(text, keys, what) {
  must(typeof text === 'string' && text.isWellFormed() && text.length <= limits.note, `${what} is not a signed note`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a signed note has none of them
  must(!/[\x00-\x09\x0b-\x1f\x7f]/.test(text), `${what} is not a signed note: it has control characters`);
  const end = text.lastIndexOf('\n\n');
  must(end > 0 && text.endsWith('\n'), `${what} is not a signed note`);
  const body = text.slice(0, end + 1);
  const signatures = text.slice(end + 2, -1).split('\n');

  /** @type {Set<VerifierKey>} */
  const signers = new Set();
  for (const line of signatures) {
    const [, name, encoded] = /^— ([^\s+]+) ([A-Za-z0-9+/]+=*)$/.exec(line) ?? [];
    must(
      name !== undefined && encoded !== undefined,
      `${what} has a line among its signatures that is not a signature`,
    );
    const bytes = fromBase64(encoded, `a signature of ${what}`);
    const signer = keys.find((key) => key.name === name && key.id === bytes.subarray(0, 4).toString('hex'));
    if (!signer) continue;
    const isValid = crypto.verify(null, Buffer.from(body), signer.key, bytes.subarray(4));
    must(isValid, `${what} is not what the key ${signer.name}+${signer.id} signed: its signature does not fit`);
    must(!signers.has(signer), `${what} is signed twice by one key`);
    signers.add(signer);
  }
  const pinned = keys.map(({ name, id }) => `${name}+${id}`).join(', ');
  decidable(keys.length === 0 || signers.size > 0, `${what} is signed by another key, not by ${pinned}`);

  const [origin = '', size = '', root, ...extensions] = body.slice(0, -1).split('\n');
  must(origin !== '' && !extensions.includes(''), `${what} is not a checkpoint`);
  must(/^(0|[1-9]\d{0,15})$/.test(size) && isWhole(Number(size), 0), `${what} names no size, but ${show(size)}`);
  const hash = hashFrom(root, `the root of ${what}`);
  must(
    Number(size) > 0 || hash.equals(sha256(Buffer.alloc(0))),
    `${what} is of no events, and its root is not that of none`,
  );
  for (const { name } of keys) must(name === origin, `${what} is of the log ${show(origin)}, the key of ${show(name)}`);
  for (const { id, least = 0, most = Number.MAX_SAFE_INTEGER } of signers) {
    const signed = `${what}, of ${counted(Number(size), 'event')}, is signed by the key ${id}`;
    must(Number(size) <= most, `${signed}, which had handed over at ${most}`);
    must(Number(size) >= least, `${signed}, which only took over at ${least}`);
  }
  const times = extensions.filter((line) => line.startsWith('time ')).map((line) => line.slice(5));
  must(times.length <= 1 && times.every(isTime), `${what} has another line of its time than one`);
  return { origin, size: Number(size), root: hash, time: times[0] ?? null, text };
}

/**
 * Opens a checkpoint that is not evidence, but what evidence is held against: one that the key did not sign decides
 * nothing. One that a key signed beyond its term contradicts the hand-over, which is signed too.
 *
 * @param {string} text
 * @param {VerifierKey[]} keys
 * @param {string} what
 */
function openGiven(text, keys, what) {
  try {
    openCheckpoint(
      text,
      keys.map(({ least, most, ...key }) => key),
      what,
    );
  } catch (error) {
    throw error instanceof NotSound ? new Undecided(error.message) : error;
  }
  return openCheckpoint(text, keys, what);
}

/**
 * A hand-over: a checkpoint that two keys have signed, and that names them. So the first says that the second signs
 * from there on, and the second that the first did until there.
 *
 * @typedef {{ from: VerifierKey, to: VerifierKey, what: string, checkpoint: Checkpoint }} Handover
 */

/** @param {unknown} text @returns {Handover} */
function readHandover(text) {
  const { text: note, origin, size } = openCheckpoint(text, [], 'a hand-over');
  const lines = note.slice(0, note.lastIndexOf('\n\n')).split('\n');
  const [named = '', ...more] = lines.filter((line) => line.startsWith('handover '));
  const [, from, to, ...others] = named.split(' ').map((each) => parseKey(each));
  const isNamed = from && to && from.text !== to.text && others.length === 0 && more.length === 0;
  must(isNamed, `the hand-over of ${counted(size, 'event')} does not name two keys`);
  const what = `the hand-over of the key ${from.id} to ${to.id}`;
  const isOwn = from.name === origin && to.name === origin;
  must(isOwn, `${what} is of the log ${show(origin)}, and not of that of the keys`);
  openCheckpoint(note, [from], what);
  return { from, to, what, checkpoint: openCheckpoint(note, [to], what) };
}

/** @param {unknown} list notes, oldest first @returns {Handover[]} */
function readHandovers(list) {
  must(list === undefined || (Array.isArray(list) && list.length <= 1000), 'handovers is no list');
  return (list ?? []).map(readHandover);
}

/**
 * The given keys, and all to which hand-overs lead from them, in either direction. A hand-over that leads from none of
 * them says nothing, for anybody can make keys.
 *
 * @param {VerifierKey[]} given
 * @param {Handover[]} handovers
 * @returns {{ keys: VerifierKey[], followed: Handover[] }} `followed` in the order of the log
 */
function follow(given, handovers) {
  const keys = new Map(given.map((key) => [key.text, { ...key }]));
  /** @type {Map<string, Handover>} */
  const followed = new Map();
  /** @param {Handover} each */
  const leadsOn = ({ from, to, checkpoint }) =>
    !followed.has(textUnderneath(checkpoint)) && (keys.has(from.text) || keys.has(to.text));
  for (let next = handovers.find(leadsOn); next; next = handovers.find(leadsOn)) {
    const { size } = next.checkpoint;
    const from = keys.get(next.from.text) ?? { ...next.from };
    const to = keys.get(next.to.text) ?? { ...next.to };
    must(
      from.most === undefined,
      `the key ${from.id} handed over twice, at ${from.most} and at ${size}: it signed two pasts`,
    );
    must(
      to.least === undefined,
      `the key ${to.id} took over twice, at ${to.least} and at ${size}: it signed two pasts`,
    );
    keys.set(from.text, Object.assign(from, { most: size })).set(to.text, Object.assign(to, { least: size }));
    followed.set(textUnderneath(next.checkpoint), next);
  }
  const inOrder = [...followed.values()].sort((a, b) => a.checkpoint.size - b.checkpoint.size);
  return { keys: [...keys.values()], followed: inOrder };
}

/**
 * The signed part of a note: of two notes with the same text, one may have more lines of others. @param {Checkpoint}
 * checkpoint
 */
function textUnderneath({ text }) {
  return text.slice(0, text.lastIndexOf('\n\n'));
}

/** @typedef {{ name: string, time: string }} Cosignature */

/**
 * The cosignatures of a checkpoint (C2SP tlog-cosignature, cosignature/v1): each says that a witness had seen the log
 * go on to this checkpoint, and when. One of a witness whose key is given must hold; of others only the names are
 * known.
 *
 * @param {Checkpoint} checkpoint
 * @param {VerifierKey[]} witnesses
 * @param {string} what
 * @returns {{ cosignatures: Cosignature[], strangers: string[] }}
 */
function cosignaturesOf({ origin, text }, witnesses, what) {
  const end = text.lastIndexOf('\n\n');
  /** @type {Cosignature[]} */
  const cosignatures = [];
  const strangers = [];
  for (const line of text.slice(end + 2, -1).split('\n')) {
    const [, name = '', encoded = ''] = line.split(' ');
    const bytes = fromBase64(encoded, `a signature of ${what}`);
    const witness = witnesses.find((key) => key.name === name && key.id === bytes.subarray(0, 4).toString('hex'));
    if (!witness) {
      if (name !== origin) strangers.push(name);
      continue;
    }
    const seconds = bytes.length === 76 ? bytes.readBigUInt64BE(4) : 0n;
    const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text.slice(0, end + 1)}`);
    const isValid =
      seconds > 0n && seconds < 2n ** 37n && crypto.verify(null, message, witness.key, bytes.subarray(12));
    must(isValid, `${what} is not what the witness ${name} cosigned: its signature does not fit`);
    cosignatures.push({ name, time: new Date(Number(seconds) * 1000).toISOString() });
  }
  return { cosignatures, strangers };
}

/** A time as it is recorded: UTC, with milliseconds, a day that there is. @param {unknown} text */
function isTime(text) {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return false;
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

// ---------------------------------------------------------------------------------------------------------------------
// 5. One event
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @typedef {{ actor: { id?: string, type: string }, correlationId: string, id: string, log: string, payload: string,
 *   position: number, recordedAt: string, schemaVersion: number, stream: string, type: string, v: 1 | 2, version:
 *   number, batch?: string }} Header
 */
/** @typedef {{ salt: string, data: Record<string, any>, context: Record<string, any> }} Payload */
/** @typedef {{ header: Header, text: string, leaf: Buffer, payload: Payload | null, absent: Absence | null }} Event */
/**
 * @typedef {'erased' | 'withheld' | 'left out'} Absence why a payload is not there: to be declared by an event; not for
 * this caller; not asked for
 */

/**
 * The canonical JSON (RFC 8785) of what a header may hold: objects, texts and whole numbers. Members stand in the order
 * of their names' UTF-16 units, which is how `sort` sorts.
 *
 * @param {unknown} value
 * @returns {string | null} null for anything else
 */
function canonical(value) {
  if (typeof value === 'string') return value.isWellFormed() ? JSON.stringify(value) : null;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (!isObject(value)) return null;
  let text = '';
  for (const name of Object.keys(value).sort()) {
    const [key, member] = [canonical(name), canonical(value[name])];
    if (key === null || member === null) return null;
    text += `${text === '' ? '' : ','}${key}:${member}`;
  }
  return `{${text}}`;
}

/** Of a header of version 2 that belongs to a bulk call also `batch`. */
const headerMembers = 'actor,correlationId,id,log,payload,position,recordedAt,schemaVersion,stream,type,v,version';
const actorTypes = ['anonymous', 'apiKey', 'system', 'user'];
const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Reads a header. Every member is checked, since each of them is what somebody will rely on.
 *
 * @param {string} text
 * @param {string} origin
 * @param {string} at which event, for the message
 * @returns {Header}
 */
function readHeader(text, origin, at) {
  must(Buffer.byteLength(text) <= limits.header, `${at}: its header is too long`);
  /** @type {unknown} */
  let header;
  try {
    header = JSON.parse(text);
  } catch {
    throw new NotSound(`${at}: its header is not JSON`);
  }
  must(isObject(header) && canonical(header) === text, `${at}: its header is not canonical JSON (RFC 8785)`);
  const { actor, batch, ...others } = header;
  const isBatched = header.v === 2 && 'batch' in header;
  must(
    Object.keys({ actor, ...others }).join() === headerMembers && 'batch' in header === isBatched,
    `${at}: its header has other members than it must have`,
  );
  must(
    header.v === 1 || header.v === 2,
    `${at}: its header has version ${show(header.v)}, this verifier knows 1 and 2`,
  );
  must(!isBatched || uuid7.test(batch), `${at}: its batch is ${show(batch)}, no UUID v7`);
  must(isWhole(header.position, 1), `${at}: its position is ${show(header.position)}`);
  const place = `event ${header.position}`;
  must(header.log === origin, `${place} belongs to another log, ${show(header.log)}`);
  must(uuid7.test(header.id), `${place}: its id is ${show(header.id)}, no UUID v7`);
  must(isWhole(header.version, 1), `${place}: its version is ${show(header.version)}`);
  must(isWhole(header.schemaVersion, 1), `${place}: its schemaVersion is ${show(header.schemaVersion)}`);
  must(isTime(header.recordedAt), `${place}: its recordedAt is ${show(header.recordedAt)}`);
  must(typeof header.stream === 'string' && /^[^/]+(\/[^/]+)+$/.test(header.stream), `${place}: it has no stream`);
  must(typeof header.type === 'string' && header.type !== '', `${place}: it has no type`);
  must(typeof header.correlationId === 'string', `${place}: it has no correlationId`);
  must(/^sha256:[0-9a-f]{64}$/.test(header.payload), `${place}: it commits to no payload`);
  must(isObject(actor) && actorTypes.includes(actor.type), `${place}: its actor is ${show(actor)}`);
  const actorNames = Object.keys(actor).join();
  must(
    actorNames === 'type' || (actorNames === 'id,type' && typeof actor.id === 'string'),
    `${place}: its actor is odd`,
  );
  return /** @type {Header} */ (header);
}

const payloadDomain = Buffer.from('annals-payload-v1\0');

/**
 * Reads a payload and holds it against the commitment of its header.
 *
 * @param {Uint8Array} bytes as they are stored
 * @param {Header} header
 * @returns {Payload}
 */
function readPayload(bytes, header) {
  const at = nameOf(header);
  const commitment = `sha256:${sha256(payloadDomain, bytes).toString('hex')}`;
  must(commitment === header.payload, `${at}: its payload is not the one that its header commits to`);
  const payload = parseExactly(textOf(bytes, `${at}: its payload`), `${at}: its payload`);
  const isWell = isObject(payload) && Object.keys(payload).join() === 'salt,data,context';
  must(isWell && isObject(payload.data) && isObject(payload.context), `${at}: its payload has another form`);
  hashFrom(payload.salt, `${at}: its salt`);
  return /** @type {Payload} */ (payload);
}

/** @param {Header} header */
function nameOf({ position, stream, version, type }) {
  return `event ${position} (${show(stream)}, version ${version}, ${show(type)})`;
}

/**
 * One shown event of a bundle or an export: `{ header, payload, erased?, withheld?, proof }`. Its proof must lead to
 * the root of the checkpoint.
 *
 * @param {unknown} shown
 * @param {Checkpoint} checkpoint
 * @param {string} at
 * @returns {Event}
 */
function readShown(shown, checkpoint, at) {
  must(isObject(shown), `${at} is no event`);
  checkMembers(shown, at, { required: ['header', 'payload', 'proof'], optional: ['erased', 'withheld'] });
  const event = readEvent(shown, checkpoint.origin, at);
  const { position } = event.header;
  const name = nameOf(event.header);
  must(
    position <= checkpoint.size,
    `${name}: the checkpoint is of ${counted(checkpoint.size, 'event')}, so it does not hold this one`,
  );
  const root = rootFromInclusion(
    { index: position - 1, size: checkpoint.size },
    event.leaf,
    hashesFrom(shown.proof, `the proof of ${name}`),
  );
  must(root?.equals(checkpoint.root), `${name}: its proof does not show that it is in the log`);
  return event;
}

/**
 * @param {Record<string, any>} shown the texts of the header and of the payload, which may be null, and why that is not
 * there
 * @param {string} origin
 * @param {string} at
 * @returns {Event}
 */
function readEvent({ header: text, payload: body, ...flags }, origin, at) {
  must(typeof text === 'string', `${at} has no header`);
  const header = readHeader(text, origin, at);
  const name = nameOf(header);
  for (const flag of ['erased', 'withheld']) {
    must(!Object.hasOwn(flags, flag) || flags[flag] === true, `${name}: ${flag} is ${show(flags[flag])}, not true`);
    must(body === null || !Object.hasOwn(flags, flag), `${name} is said to be ${flag}, and its payload is there`);
  }
  must(!(flags.erased && flags.withheld), `${name} is said to be erased and withheld`);
  must(body === null || (typeof body === 'string' && body.isWellFormed()), `${name}: its payload is no text`);
  const leaf = leafHash(Buffer.from(text));
  if (body === null) return { header, text, leaf, payload: null, absent: flags.withheld ? 'withheld' : 'erased' };
  return { header, text, leaf, payload: readPayload(Buffer.from(body), header), absent: null };
}

// ---------------------------------------------------------------------------------------------------------------------
// 6. Events in their order
// ---------------------------------------------------------------------------------------------------------------------

const clockStream = 'system/clock';
const auditStream = 'system/audit';
const keyStream = 'system/keys';
const filesStream = 'system/files';

/** @typedef {{ header: Header, reason: unknown }} Fate what the newest event about a file says, and why */
/**
 * @typedef {{ stream: string, versions: number, position: number }} Declaration an erasure: of the stream's versions 1
 * to `versions`
 */

/**
 * Takes events in the order of the log and checks the rules among them: positions, versions and times; and that a
 * payload which is missing was erased.
 *
 * @param {object} rules
 * @param {number | null} rules.after positions follow this one without gaps; null: they only rise
 * @param {(stream: string) => 'whole' | 'tail' | 'some'} rules.shows of a stream: all its versions, all from some one
 * on, or some
 * @param {Event[]} [rules.corrections] of the clock, that stand among the events or after them
 */
function openJournal({ after, shows, corrections = [] }) {
  const sayings = openSayings();
  let lastPosition = after ?? 0;
  let lastTime = '';
  let count = 0;
  let withheld = 0;
  const waiting = corrections.map(({ header }) => header);
  /** @type {Set<number>} */
  const corrected = new Set();
  /** @type {Map<string, number>} */
  const versions = new Map();
  /** @type {Map<string, Header[]>} */
  const missing = new Map();

  /** @param {Event} event */
  function add({ header, payload, absent }) {
    const { position, stream, version, recordedAt } = header;
    const name = nameOf(header);
    if (after !== null && position !== lastPosition + 1) {
      throw new NotSound(`event ${lastPosition + 1} is missing: ${name} stands in its place`);
    }
    must(position > lastPosition, `${name} is out of order: it comes after event ${lastPosition}`);
    while (waiting[0] && waiting[0].position <= position) correct(/** @type {Header} */ (waiting.shift()));
    if (stream === clockStream) correct(header);
    must(
      recordedAt >= lastTime,
      `${name} was recorded at ${recordedAt}, before the event that it follows (${lastTime})`,
    );
    checkVersion(stream, version, name);
    [lastPosition, lastTime] = [position, recordedAt];
    versions.set(stream, version);
    count += 1;
    if (payload) sayings.take(header, payload);
    else if (absent === 'withheld') withheld += 1;
    else if (absent === 'erased') collect(missing, stream, header);
  }

  /** A correction of the clock may be earlier than what is before it; times go on from there. @param {Header} header */
  function correct({ position, recordedAt }) {
    lastTime = recordedAt;
    corrected.add(position);
  }

  /** @param {string} stream @param {number} version @param {string} name */
  function checkVersion(stream, version, name) {
    const before = versions.get(stream);
    const how = shows(stream);
    const isFirst = before === undefined && how === 'tail';
    const next = (before ?? 0) + 1;
    const fits = how === 'some' || isFirst ? version >= next : version === next;
    must(fits, `${name}: version ${next} of ${show(stream)} is missing before it`);
  }

  /** To be called after the last one. @param {Declaration[]} others declared by events that are not part of this run */
  function settle(others = []) {
    sayings.checkGone(others);
    // The corrections after the last event that is shown say of all of them that their times may be wrong.
    for (const { position } of waiting) corrected.add(position);
    const { declarations, files, fates, keys } = sayings;
    const erased = countErased(missing, [...declarations, ...others]);
    const last = count > 0 ? { position: lastPosition, recordedAt: lastTime } : null;
    return { count, erased, withheld, versions, declarations, files, fates, keys, last, lastTime, corrected };
  }

  return { add, settle };
}

/** Collects what events say of others: erasures, schemas, files, keys. */
function openSayings() {
  /** Of each stream the first version whose payload is there and may be erased. @type {Map<string, number>} */
  const present = new Map();
  /** @type {Declaration[]} */
  const declarations = [];
  /** The collections of files, by the newest schema. @type {Set<string>} */
  let uploads = new Set();
  /** Files by the SHA-256 of their bytes, with the first event that names them. @type {Map<string, Header>} */
  const files = new Map();
  /** The fates of keys, and of events that they had not sealed, in words. @type {KeyWords[]} */
  const keys = [];
  /**
   * The fates of files, by the stream and the version that name them: the newest event about each. @type {Map<string,
   * Fate>}
   */
  const fates = new Map();

  /** @param {Header} header @param {{ data: Record<string, any>, context: Record<string, any> }} payload */
  function take(header, { data, context }) {
    if (header.type === 'document.erased') {
      const declared = erasedBy(header, data);
      checkGone(declared);
      declarations.push(...declared);
    } else if (!present.has(header.stream)) {
      present.set(header.stream, header.version);
    }
    if (header.stream === filesStream && /^file\.(lost|found)$/.test(header.type)) {
      fates.set(`${data.stream} ${data.version}`, { header, reason: context.reason });
    }
    if (header.type === 'schema.changed') uploads = uploadsOf(data);
    if (header.stream === keyStream) keys.push(...keyWords(header, data));
    if (header.stream === auditStream) keys.push(...acceptanceWords(header, data).map((words) => ({ words })));
    if (!header.type.startsWith('document.') || !uploads.has(header.stream.split('/')[0] ?? '')) return;
    for (const holder of [data, data.set, data.document]) {
      const sha256 = isObject(holder) ? holder.sha256 : null;
      if (isFileName(sha256) && !files.has(sha256)) files.set(sha256, header);
    }
  }

  /**
   * An erased payload must not be there; only what erasures say of themselves stays. @param {Declaration[]} declared
   */
  function checkGone(declared) {
    for (const { stream, versions: erased, position } of declared) {
      const there = present.get(stream) ?? Number.POSITIVE_INFINITY;
      must(
        there > erased,
        `event ${position} says that version ${there} of ${show(stream)} was erased, and it is there`,
      );
    }
  }

  return { take, checkGone, declarations, files, fates, keys };
}

/**
 * A payload is rightly missing only where a later event of the log says that it was erased.
 *
 * @param {Map<string, Header[]>} missing by stream
 * @param {Declaration[]} declarations
 */
function countErased(missing, declarations) {
  /** @type {Map<string, Declaration[]>} */
  const declared = new Map();
  for (const each of declarations) collect(declared, each.stream, each);
  let erased = 0;
  for (const [stream, headers] of missing) {
    for (const header of headers) {
      const isDeclared =
        header.type !== 'document.erased' &&
        declared
          .get(stream)
          ?.some(({ versions, position }) => versions >= header.version && position > header.position);
      must(isDeclared, `${nameOf(header)}: its payload is missing, and no document.erased declares it`);
      erased += 1;
    }
  }
  return erased;
}

/**
 * @typedef {{ words: string, handover?: Handover }} KeyWords `handover`: the words are not needed where it was followed
 */

/**
 * Words for an event about a key. That it says so is proven, not that it is so: by whom a log is signed, its owner has
 * to say, or a key that was given.
 *
 * @param {Header} header
 * @param {Record<string, any>} data
 * @returns {KeyWords[]}
 */
function keyWords({ type, position }, { from, to, key, handover }) {
  /** @param {unknown} one */
  const idIn = (one) => (isObject(one) && /^[0-9a-f]{8}$/.test(String(one.id)) ? one.id : 'that it does not name');
  if (type === 'log.key.replaced')
    return [
      {
        words: `whether the key ${idIn(from)} was replaced by ${idIn(to)}, as event ${position} says: ask who owns the log`,
        ...(handover !== undefined && { handover: readHandover(handover) }),
      },
    ];
  if (type !== 'log.key.disowned') return [];
  const words = `what the key ${idIn(key)} signed: event ${position} disowns it, for events that it vouched for are lost`;
  return [{ words }];
}

/**
 * Words for an event about others that the service had not sealed, and that an operator took as they were.
 *
 * @param {Header} header
 * @param {Record<string, any>} data
 * @returns {string[]}
 */
function acceptanceWords({ type, position }, { from, to }) {
  if (type !== 'log.writes.accepted' || !Number.isSafeInteger(to)) return [];
  const first = (Number.isSafeInteger(from) ? from : 0) + 1;
  const which = first > to ? `the ${to} events before it` : `the events ${first} to ${to}`;
  return [
    `the authorship of ${which}: the vault had not sealed the log, and somebody took it as it was, as event ${position} says`,
  ];
}

/**
 * The fate of a file whose bytes are not shown, as the events say: that it is lost, or nothing.
 *
 * @param {Map<string, Fate>} fates
 * @param {Header} header of the event that names it first
 */
function fateOf(fates, { stream, version }) {
  const fate = fates.get(`${stream} ${version}`);
  if (!fate) return 'left out, and nothing says that it was lost';
  const { header, reason } = fate;
  const when = `event ${header.position} of ${header.recordedAt}`;
  if (header.type === 'file.found') return `left out, and ${when} says that it was found again`;
  return `lost, as ${when} says: ${show(reason)}`;
}

/** @param {unknown} sha256 @returns {sha256 is string} */
function isFileName(sha256) {
  return typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
}

/** @template Item @param {Map<string, Item[]>} lists @param {string} key @param {Item} item */
function collect(lists, key, item) {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** @param {Header} header @param {Record<string, any>} data @returns {Declaration[]} */
function erasedBy(header, { streams }) {
  const name = nameOf(header);
  must(Array.isArray(streams), `${name} does not say what it erased`);
  return streams.map((each) => {
    const isWell = isObject(each) && typeof each.stream === 'string' && isWhole(each.versions, 0);
    must(isWell, `${name} does not say what it erased`);
    return { stream: each.stream, versions: each.versions, position: header.position };
  });
}

/** @param {Record<string, any>} data @returns {Set<string>} */
function uploadsOf({ schema }) {
  const collections = isObject(schema) && Array.isArray(schema.collections) ? schema.collections : [];
  return new Set(collections.filter((each) => isObject(each) && each.upload).map(({ slug }) => String(slug)));
}

// ---------------------------------------------------------------------------------------------------------------------
// 7. Documents, made of their events
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @typedef {{ document: Record<string, any> | null, isKnown: boolean }} State not known after a payload that was
 * withheld
 */

/**
 * Folds a stream, as docs/events.md says: no renames, no defaults, the fields as they were recorded. An erasure takes
 * the document away, whatever stream it is recorded in.
 *
 * @param {Event[]} events of one stream, in order
 * @param {Declaration[]} erasures of this stream
 * @param {(state: State, header: Header) => void} look is shown what each event leaves
 * @returns {State}
 */
function fold(events, erasures, look) {
  /** @type {State} */
  let state = { document: null, isKnown: true };
  let done = 0;
  for (const event of events) {
    const { position } = event.header;
    const isErased = erasures.some((erasure) => erasure.position > done && erasure.position <= position);
    state = after(isErased ? { document: null, isKnown: true } : state, event);
    done = position;
    look(state, event.header);
  }
  return erasures.some((erasure) => erasure.position > done) ? { document: null, isKnown: true } : state;
}

/** The types of the events about documents and globals that change nothing public. */
const draftTypes = new Set([
  'document.draft.created',
  'document.draft.updated',
  'document.draft.restored',
  'document.draft.discarded',
  'global.draft.updated',
  'global.draft.restored',
  'global.draft.discarded',
]);

/** Whether events of this type are about drafts alone. @param {string} type */
function isDraftType(type) {
  return draftTypes.has(type) || type.startsWith('review.');
}

/** The types of the events after which nothing is public. */
const endTypes = new Set(['document.unpublished', 'document.deleted', 'document.erased']);

/**
 * The public states of a document in their order, each by the event that made it, until the next change of what is
 * public: by the types of events, which are shown even if payloads are not.
 *
 * @param {Event[]} events of one stream, in order
 */
function publicStates(events) {
  /** @type {Array<{ header: Header, until: string | null }>} */
  const states = [];
  let isPublic = false;
  for (const { header } of events) {
    const { type, recordedAt } = header;
    if (!/^(document|global)\./.test(type) || isDraftType(type)) continue;
    const last = states.at(-1);
    if (isPublic && last) last.until = recordedAt;
    isPublic = !endTypes.has(type);
    if (isPublic) states.push({ header, until: null });
  }
  return states;
}

/** @param {State} before @param {Event} event @returns {State} */
function after(before, { header, payload, absent }) {
  const { type, schemaVersion } = header;
  if (!/^(document|global)\./.test(type) || type === 'document.erased') return before;
  const name = nameOf(header);
  decidable(schemaVersion === 1, `${name} has schemaVersion ${schemaVersion}, this verifier knows 1`);
  // Drafts and reviews change nothing that is public.
  if (draftTypes.has(type)) return before;
  if (type === 'document.deleted' || type === 'document.unpublished') return { document: null, isKnown: true };
  if (!payload) return { ...before, isKnown: before.isKnown && absent === 'erased' };
  const { data } = payload;
  if (type === 'document.created') return { document: data, isKnown: true };
  if (type === 'document.restored' || type === 'global.restored') {
    must(isObject(data.document), `${name} does not hold the document that it restores`);
    return { document: data.document, isKnown: true };
  }
  const isPublication = type === 'document.published' || type === 'global.published';
  if (isPublication && isObject(data.document)) return { document: data.document, isKnown: true };
  decidable(
    isPublication || /^(document|global)\.updated$/.test(type),
    `${name} is of a type that this verifier does not know`,
  );
  must(isObject(data.set), `${name} does not say what it sets`);
  // Spread defines members, so one that is named __proto__ is a member like any other.
  /** @type {Record<string, any>} */
  const document = { ...before.document, ...data.set };
  for (const field of Array.isArray(data.unset) ? data.unset : []) delete document[String(field)];
  return { document, isKnown: before.isKnown };
}

// ---------------------------------------------------------------------------------------------------------------------
// 8. Earlier checkpoints
// ---------------------------------------------------------------------------------------------------------------------

/** @typedef {{ authority: string, token: Buffer }} Token a time-stamp token (RFC 3161), which only openssl checks */
/**
 * @typedef {{ what: string, checkpoint: Checkpoint, tokens?: Token[] }} Kept a checkpoint that the auditor brought, or
 * that is shown as well
 */
/**
 * The findings: proven, open, and those for the last line; lies in texts for readers, which proofs do not hang on; what
 * would have to be shown, and is not. All of the evidence is looked at before that counts, for a contradiction goes
 * before it.
 *
 * @typedef {{ proven: string[], open: string[], but: string[], lies: string[], unproven: string[], facts:
 * Record<string, any>, files: Map<string, Buffer>, followed: Set<string> }} Report `files` are to be written where
 * --tokens says, `followed` are the texts of hand-overs
 */
/**
 * @typedef {{ what: string, from: number, to: number, fromRoot: string, toRoot: string, proof: Buffer[] }} Answer a
 * consistency proof, as it was given
 */
/**
 * @typedef {{ file: string, add: (text: string) => void, keep: () => void, drop: () => void }} Out a file that is
 * written
 */
/**
 * @typedef {{ keys: VerifierKey[], handovers: Handover[], witnesses: VerifierKey[], isPinned: boolean, isTrusting:
 * boolean, kept: Array<{ what: string, text: string }>, proofs: Answer[], files: string | null, page: Out | null,
 * table: Out | null, tokens: string | null, at: string | null, progress: (count: number) => void }} Options
 */

/** @typedef {{ options: Options, report: Report }} Check one run of this verifier: the order, and what comes of it */

/**
 * The keys to be used for a thing that names one itself, and what that is worth.
 *
 * @param {Record<string, any>} thing
 * @param {string} what
 * @param {Check} check
 */
function keysFor({ verifierKey: inside, handovers }, what, { options, report }) {
  const own = typeof inside === 'string' ? parseKey(inside) : null;
  must(own, `the verifierKey of ${what} is no verifier key`);
  report.facts.verifierKey = own.text;
  const shown = [...readHandovers(handovers), ...options.handovers];
  const { keys, followed } = follow(options.isPinned ? options.keys : [own], shown);
  decidable(
    keys.some(({ text }) => text === own.text),
    `${what} names another key than the pinned one: ${show(own.text)}; a log may have had several, and each that you know to be ` +
      'its is a --key',
  );
  const isGiven = options.keys.some(({ text }) => text === own.text);
  const origins = isGiven
    ? 'the pinned key'
    : options.isPinned
      ? `the key ${own.id}, to which hand-overs lead from the pinned one`
      : `the key that ${what} itself names`;
  return { keys, followed, signer: origins };
}

/**
 * Reports the hand-overs that were followed, and gives those that what is shown continues: it has to prove that, as of
 * a kept checkpoint.
 *
 * @param {Handover[]} followed
 * @param {number} size how many events are shown to be signed
 * @param {Report} report
 */
function reportHandovers(followed, size, report) {
  for (const { from, to, checkpoint } of followed) {
    report.followed.add(textUnderneath(checkpoint));
    const at = counted(checkpoint.size, 'event');
    report.proven.push(`the key ${from.id} handed over to ${to.id} at ${at}: both have signed it`);
    if (checkpoint.size > size)
      report.open.push(
        `whether the log that ${from.id} handed over to ${to.id}, of ${at}, continues what is shown: only a proof says so, see compare`,
      );
  }
  return followed.filter(({ checkpoint }) => checkpoint.size <= size);
}

/**
 * Opens the checkpoints that the auditor kept: of the same log, signed by the same key.
 *
 * @param {Options} options
 * @param {VerifierKey[]} keys
 * @param {string} origin
 * @returns {Kept[]}
 */
function openKept(options, keys, origin) {
  return options.kept.map(({ what, text }) => {
    const checkpoint = openGiven(text, keys, what);
    decidable(checkpoint.origin === origin, `${what} is of another log, ${show(checkpoint.origin)}`);
    return { what, checkpoint };
  });
}

/**
 * The checkpoints that are shown because somebody outside vouched for them: of the same log, signed by the same key.
 * The word of others about one that another key signed, as before the key was replaced, is not looked at.
 *
 * @param {unknown} stamped
 * @param {{ keys: VerifierKey[], checkpoint: Checkpoint }} shown
 * @param {Report} report
 * @returns {Kept[]}
 */
function openStamped(stamped, { keys, checkpoint: shown }, report) {
  must(stamped === undefined || (Array.isArray(stamped) && stamped.length <= 1000), 'stamped is no list');
  let others = 0;
  const opened = (stamped ?? []).flatMap((/** @type {unknown} */ each) => {
    must(isObject(each), 'stamped holds something that is not a checkpoint');
    checkMembers(each, 'a checkpoint in stamped', { required: ['checkpoint', 'tokens'] });
    must(Array.isArray(each.tokens) && each.tokens.length <= 100, 'tokens in stamped is no list');
    const checkpoint = openCheckpoint(each.checkpoint, [], 'a checkpoint in stamped');
    const what = `the stamped checkpoint of ${counted(checkpoint.size, 'event')}`;
    must(checkpoint.origin === shown.origin, `${what} is of another log, ${show(checkpoint.origin)}`);
    const tokens = each.tokens.map((/** @type {unknown} */ token) => readTokenIn(token, what));
    if (!namesOne(checkpoint, keys)) {
      others += 1;
      return [];
    }
    openCheckpoint(each.checkpoint, keys, 'a checkpoint in stamped');
    return [{ what, checkpoint, tokens }];
  });
  if (others > 0)
    report.open.push(
      `what others say of ${counted(others, 'checkpoint')} in stamped: another key signed them, which was not given, by --key`,
    );
  return opened;
}

/**
 * Whether one of the keys has signed a checkpoint, by what its lines say. @param {Checkpoint} checkpoint @param
 * {VerifierKey[]} keys
 */
function namesOne({ text }, keys) {
  const lines = text.slice(text.lastIndexOf('\n\n') + 2, -1).split('\n');
  return lines.some((line) => {
    const [, name, encoded = ''] = line.split(' ');
    const id = Buffer.from(encoded, 'base64').toString('hex', 0, 4);
    return keys.some((key) => key.name === name && key.id === id);
  });
}

/** @param {unknown} token @param {string} what @returns {Token} */
function readTokenIn(token, what) {
  must(isObject(token), `a time-stamp token of ${what} is not an object`);
  checkMembers(token, 'a time-stamp token', { required: ['authority', 'token'] });
  must(
    typeof token.authority === 'string' && token.authority !== '',
    `a time-stamp token of ${what} names no authority`,
  );
  return { authority: token.authority, token: fromBase64(token.token, `a time-stamp token of ${what}`) };
}

/** Takes down the root of a growing tree at each size that a kept checkpoint is of. @param {Kept[]} kept */
function rootsAt(kept) {
  const sizes = new Set(kept.map(({ checkpoint }) => checkpoint.size));
  /** @type {Map<number, Buffer>} */
  const found = new Map();

  /** @param {ReturnType<typeof growingTree>} tree */
  function look(tree) {
    if (sizes.has(tree.size())) found.set(tree.size(), tree.root());
  }

  return { look, found };
}

/** The call that answers with the proof from one size to another. @param {number} from @param {number} to */
function callFor(from, to) {
  return `GET /api/audit/consistency?from=${from}&to=${to}`;
}

/**
 * Whether a given proof leads from one tree to a larger one, which it names both by their roots.
 *
 * @param {Answer} answer
 * @param {Pick<Checkpoint, 'size' | 'root'>} first
 * @param {Pick<Checkpoint, 'size' | 'root'>} second
 */
function leads({ fromRoot, toRoot, proof }, first, second) {
  const isOfThese = fromRoot === first.root.toString('base64') && toRoot === second.root.toString('base64');
  return isOfThese && isConsistent(first, second, proof);
}

/**
 * @param {unknown} earlier @param {Pick<Checkpoint, 'size'>} shown @returns {Map<number, Buffer[]>} the proofs of an
 * archive, by the size that they are from
 */
function readEarlier(earlier, shown) {
  const proofs = new Map();
  must(earlier === undefined || Array.isArray(earlier), 'earlier is not a list');
  for (const each of earlier ?? []) {
    must(isObject(each), 'earlier holds something that is not a proof');
    checkMembers(each, 'a proof in earlier', { required: ['size', 'proof'] });
    must(isWhole(each.size, 0) && each.size <= shown.size && !proofs.has(each.size), 'earlier has a wrong size');
    proofs.set(each.size, hashesFrom(each.proof, `the proof from size ${each.size}`, 128));
  }
  return proofs;
}

/**
 * Holds the kept checkpoints, the stamped ones and the hand-overs against the tree that is shown. Roots that were
 * computed from events prove as much as a proof does. Two roots of one size contradict each other. A proof is not
 * signed, so one that is missing, or does not lead there, proves nothing, neither for the log nor against it; nor does
 * evidence that is older than what was kept.
 *
 * @param {{ kept: Kept[], stamped: Kept[], handed: Kept[] }} others
 * @param {{ checkpoint: Pick<Checkpoint, 'size' | 'root'>, earlier?: unknown, roots: Map<number, Buffer> }} shown
 * `earlier` are consistency proofs, `roots` were computed, by size
 * @param {Check} check
 * @returns {Set<Kept>} those that are of this log
 */
function checkKept({ kept, stamped, handed }, { checkpoint: shown, earlier, roots }, { options, report }) {
  const proofs = readEarlier(earlier, shown);
  /** @type {Map<number, Kept>} */
  const beyond = new Map();
  /** @type {Set<Kept>} */
  const sure = new Set();
  for (const each of [...kept, ...stamped, ...handed]) {
    const { what, checkpoint } = each;
    const { size, root } = checkpoint;
    const found = size === shown.size ? shown.root : roots.get(size);
    if (found) {
      must(
        found.equals(root),
        `this is another log than that of ${what}: at ${counted(size, 'event')} their roots differ (a fork)`,
      );
      sure.add(each);
      continue;
    }
    const other = beyond.get(size) ?? each;
    must(
      other.checkpoint.root.equals(root),
      `${other.what} and ${what} are both of ${counted(size, 'event')}, and their roots differ: proof of a fork: keep both files`,
    );
    beyond.set(size, each);
    const isNewer = size > shown.size;
    const [first, second] = isNewer ? [shown, checkpoint] : [checkpoint, shown];
    const inside = first.size === 0 ? [] : isNewer ? undefined : proofs.get(size);
    const given = options.proofs.filter(({ from, to }) => from === first.size && to === second.size);
    const isProven = inside !== undefined && isConsistent(first, second, inside);
    if (isProven || given.some((answer) => leads(answer, first, second))) sure.add(each);
    else {
      const lacks = isNewer
        ? `${what} is of ${counted(size, 'event')}, what is shown ends at ${shown.size}: it is older, and only a proof says whether the log went on from it`
        : `nothing proves that the log continues ${what}, of ${counted(size, 'event')}`;
      const wrong = `the proof does not lead from ${isNewer ? `what is shown to ${what}` : `${what} to what is shown`}: it is not signed itself, and a log that was never rewritten has one that does. Keep all files`;
      const anew = isNewer ? '' : ` with since=${size}`;
      report.unproven.push(
        `${inside || given.length > 0 ? wrong : lacks}: ask for it anew${anew}, or give the answer of ${callFor(first.size, second.size)} as --proof`,
      );
    }
  }
  reportKept(kept, sure, { shown, options, report });
  return sure;
}

/** @param {Kept[]} kept @param {Set<Kept>} sure @param {Check & { shown: Pick<Checkpoint, 'size'> }} check */
function reportKept(kept, sure, { shown, options, report }) {
  for (const each of kept) {
    if (!sure.has(each)) continue;
    const { what, checkpoint } = each;
    const isNewer = checkpoint.size > shown.size;
    const of = counted(checkpoint.size, 'event');
    report.proven.push(isNewer ? `${what}, of ${of}, continues what is shown` : `it continues ${what}, of ${of}`);
    if (isNewer) report.open.push(`what came after event ${shown.size}, up to ${checkpoint.size} of ${what}`);
  }
  const sizes = new Set(kept.map(({ checkpoint }) => checkpoint.size));
  for (const { what, from, to } of options.proofs) {
    const isOfKept = (to === shown.size && sizes.has(from)) || (from === shown.size && sizes.has(to));
    if (!isOfKept)
      report.open.push(`what ${what} proves: it leads from ${from} to ${to}, and neither is asked for here`);
  }
  if (kept.length === 0)
    report.open.push('no checkpoint from before was given, so a log that was rewritten and signed anew is not found');
}

/** @param {Checkpoint} checkpoint @param {Report} report */
function reportCheckpoint(checkpoint, report) {
  report.facts.origin = checkpoint.origin;
  report.facts.checkpoint = {
    size: checkpoint.size,
    root: checkpoint.root.toString('base64'),
    ...(checkpoint.time !== null && { time: checkpoint.time }),
  };
}

/**
 * Reports the times that others than the log vouch for: for each witness the first by which all that is shown was
 * there, and the newest. The tokens of time-stamp authorities are told of, and how they are checked.
 *
 * @param {Kept[]} all checkpoints that are all of this log
 * @param {number} position that of the last event that is shown
 * @param {Check} check
 */
function reportOutside(all, position, { options, report }) {
  const { witnesses, tokens: folder } = options;
  const strangers = new Set();
  /** @type {{ name: string, time: string, size: number }[]} */
  const seen = [];
  for (const { what, checkpoint } of all) {
    const found = cosignaturesOf(checkpoint, witnesses, what);
    for (const { name, time } of found.cosignatures) seen.push({ name, time, size: checkpoint.size });
    for (const name of found.strangers) strangers.add(name);
  }
  seen.sort((a, b) => (a.time === b.time ? a.size - b.size : a.time < b.time ? -1 : 1));
  for (const { name } of witnesses) {
    const own = seen.filter((each) => each.name === name);
    const [first, newest] = [own.find(({ size }) => size >= position), own.at(-1)];
    if (first && position > 0)
      report.proven.push(
        `all that is shown was there at ${first.time}, for the witness ${show(name)} cosigned ${counted(first.size, 'event')}`,
      );
    if (newest && newest.time !== first?.time)
      report.proven.push(`the witness ${show(name)} cosigned ${counted(newest.size, 'event')} at ${newest.time}`);
    if (!newest) report.open.push(`the witness ${show(name)} cosigned no checkpoint that is shown`);
  }
  reportTokens(all, { position, folder }, report);
  for (const name of [...strangers].slice(0, 8))
    report.open.push(`what ${show(name)} cosigned: its key was not given, by --witness`);
  const newest = seen.at(-1);
  if (newest) report.facts.outside = { time: newest.time, by: newest.name, size: newest.size };
}

/**
 * A token says that what it is over was there at a time, and is signed by an authority (RFC 3161). To check that takes
 * ASN.1 and certificates, which are not for this one file: of each authority the first that holds all that is shown,
 * and the newest, are put out for openssl. They are over the note as the log signed it, up to the end of its first
 * signature line.
 *
 * @param {Kept[]} all
 * @param {{ position: number, folder: string | null }} shown its last position, and the folder that tokens are written
 * to
 * @param {Report} report
 */
function reportTokens(all, { position, folder }, report) {
  const found = all
    .flatMap(({ checkpoint, tokens = [] }) => tokens.map((token) => ({ checkpoint, ...token })))
    .sort((a, b) => a.checkpoint.size - b.checkpoint.size);
  for (const authority of new Set(found.map((each) => each.authority))) {
    const own = found.filter((each) => each.authority === authority);
    const told = new Set([own.find(({ checkpoint }) => checkpoint.size >= position), own.at(-1)]);
    for (const each of told) {
      if (!each) continue;
      const { size, text } = each.checkpoint;
      const data = `annals-${size}.txt`;
      const token = `annals-${size}-${authority.replace(/[^\w.-]/g, '-').slice(0, 100)}.tst`;
      const [dataFile, tokenFile] = [data, token].map((name) => quotedForShell(path.join(folder ?? '', name)));
      report.open.push(
        `when the checkpoint of ${counted(size, 'event')} was there: ${show(authority)} says so in a time-stamp token, which is not checked here. ` +
          `${folder === null ? 'With --tokens . that is done by' : 'Check it by'}: ` +
          `openssl ts -verify -data ${dataFile} -in ${tokenFile} -token_in -CAfile CA.pem`,
      );
      const end = text.indexOf('\n', text.lastIndexOf('\n\n') + 2) + 1;
      report.files.set(data, Buffer.from(text.slice(0, end)));
      report.files.set(token, each.token);
    }
  }
}

/** @param {string} text */
function quotedForShell(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Keeps in mind the newest event that is proven. @param {Pick<Header, 'position' | 'recordedAt'> | null} header @param
 * {Report} report
 */
function noteNewest(header, report) {
  if (header === null || header.position <= (report.facts.newest?.position ?? 0)) return;
  report.facts.newest = { position: header.position, recordedAt: header.recordedAt };
}

// ---------------------------------------------------------------------------------------------------------------------
// 9. Texts for readers, made again
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @typedef {{ names: string[], size: (name: string) => number, chunks: (name: string) => AsyncIterable<Uint8Array> }}
 * Source
 */

/** @param {Source} source @param {string} name @returns {Promise<any>} */
async function readJson(source, name) {
  const text = textOf(await readAll(source, name, limits.json), name);
  return parseExactly(text.replace(/\n$/, ''), name, [0, 2]);
}

/** @param {Source} source @param {string} name @param {number} most */
async function readAll(source, name, most) {
  decidable(source.size(name) <= most, `${name} has more than ${most} bytes`);
  const chunks = [];
  for await (const chunk of source.chunks(name)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The version in which summary.html, README.txt, CSV and CloudEvents are written (docs/log-format.md). Packs that name
 * none have the same page, and another README.
 */
const textsVersion = 1;

/** README.txt behind its first lines, which are about the one archive, by its SHA-256. */
const readmes = {
  bundle: '4653dfec856c914389e3567bdff0de22fa4152c71168889f8e52dabe924ef116',
  export: '648e537ef7ae11072280dbc9e32e11355a027eea8fdeac7f3aacf0e50242bce2',
};

/** @param {Record<string, any>} bundle @param {string} signedAt */
function bundleHead({ origin, stream, versions }, signedAt) {
  const count = versions[stream];
  return `AN EVIDENCE PACK
================

The service "${origin}" keeps a log of everything that is done in it. This is all of it about
"${stream}": ${counted(count, 'event')}, up to the checkpoint that the service signed on
${signedAt} (UTC).
`;
}

/** @param {Record<string, any>} manifest */
function exportHead({ origin, from, to, filters: wanted, withPayloads, madeAt }) {
  const chosen = Object.entries(wanted).map(([name, value]) => `${name} = ${value}`);
  const left = 'What the changes said is left out: whoever asked for this may see only that they took place.\n';
  return `AN EXPORT OF A RECORD OF CHANGES
================================

The service "${origin}" keeps a log of everything that is done in it. This is a copy of a
part of that log: ${chosen.length === 0 ? 'every event' : `the events with ${chosen.join(', ')}`} from number ${from} to number ${to}, made on
${madeAt} (UTC).${to < from ? ' There are none in that range.' : ''}
${withPayloads ? '' : left}`;
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .3rem;border-top:1px solid #999;padding-top:1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}th,td{border:1px solid #bbb;padding:.3rem .5rem;text-align:left;vertical-align:top}
td{white-space:pre-wrap;overflow-wrap:anywhere}th{background:#eee;width:22%}thead th{width:auto}
.gone{color:#a00;font-weight:bold}.none{color:#666}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}tr,h2{break-inside:avoid;break-after:auto}h2{break-after:avoid}}`;

/** @type {Record<string, string>} */
const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** @param {unknown} text */
function html(text) {
  return String(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** A text from the log, which turns no direction of writing but its own. @param {unknown} text */
function quoted(text) {
  return `<bdi>${html(String(text).toWellFormed())}</bdi>`;
}

/** @param {string} name @param {string} value */
function fact(name, value) {
  return `<dt>${name}</dt><dd>${value}</dd>`;
}

/**
 * The page of a bundle, summary.html, in pieces, each with the place it is: who changed what, when and why.
 *
 * @param {{ stream: string, checkpoint: Checkpoint, signedAt: string, events: Event[], erasures: Declaration[] }} shown
 *   events and erasures of this stream
 */
function pageOf({ stream, checkpoint, signedAt, events, erasures }) {
  const { origin, size, root } = checkpoint;
  const about = [
    fact('Log', quoted(origin)),
    fact('Up to event', String(size)),
    fact('Fingerprint of the log there', `<code>${html(root.toString('base64'))}</code>`),
    fact('Signed', signedAt === '' ? 'unknown' : `${html(signedAt)} (UTC)`),
  ];
  const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>${html(`Changes of ${stream}`)}</title>
<style>${style}</style></head><body>
<h1>Changes of ${quoted(stream)}</h1>
<dl>${about.join('')}</dl>
<p>Every change on record, oldest first. Times are UTC. This page is for reading; what proves it is in bundle.json, and
README.txt says how to check that.</p>
`;
  const pieces = [{ text: head, place: 'its first lines' }];
  let [before, next] = [/** @type {State['document']} */ (null), 0];
  fold(events, erasures, ({ document }) => {
    const event = /** @type {Event} */ (events[next]);
    pieces.push({ text: sectionOf(event, before, document), place: `version ${event.header.version}` });
    [before, next] = [document, next + 1];
  });
  pieces.push({ text: `${publicTable(events)}</body></html>\n`, place: 'its end' });
  return pieces;
}

/**
 * The versions that were public, where there are drafts: else each one was. @param {Event[]} events of one stream
 */
function publicTable(events) {
  const isAboutDrafts = (/** @type {string} */ type) =>
    isDraftType(type) || /\.published$/.test(type) || type === 'document.unpublished';
  if (!events.some(({ header }) => isAboutDrafts(header.type))) return '';
  const heading =
    '<h2>Public states</h2>\n<p>The versions that readers saw, each until it was replaced or taken back.</p>\n';
  const rows = publicStates(events).map(({ header, until }) => {
    const cells = [header.recordedAt, until ?? '–', header.version, actorText(header.actor)];
    return `<tr>${cells.map((cell) => `<td>${quoted(cell)}</td>`).join('')}</tr>`;
  });
  if (rows.length === 0) return `${heading}<p class="none">No version was ever public.</p>\n`;
  const names = '<tr><th>From</th><th>Until</th><th>Version</th><th>Made public by</th></tr>';
  return `${heading}<table><thead>${names}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>\n`;
}

/** The values that an event of a draft holds; of a review, what it says. @param {Record<string, any>} data */
function savedIn(data) {
  if (isObject(data.set)) return data.set;
  return isObject(data.document) ? data.document : data;
}

/** @param {Header['actor']} actor */
function actorText(actor) {
  const texts = new Map([
    ['user', `user ${actor.id}`],
    ['apiKey', `API key ${actor.id}`],
    ['system', 'the service itself, or its operator'],
    ['anonymous', 'somebody without a credential'],
  ]);
  return String(texts.get(actor.type));
}

/** The payload for texts about an event whose own is not shown. @type {Payload} */
const noPayload = { salt: '', data: {}, context: {} };

const changeWords = new Map([
  ['document.created', 'created'],
  ['document.updated', 'changed'],
  ['document.deleted', 'deleted'],
  ['document.restored', 'restored from an earlier version'],
  ['document.erased', 'erased: what the versions before this one said was removed for good'],
  ['document.draft.created', 'created as a draft, not public'],
  ['document.draft.updated', 'draft changed, not public'],
  ['document.draft.restored', 'an earlier version restored as a draft, not public'],
  ['document.draft.discarded', 'unpublished changes discarded'],
  ['document.published', 'published'],
  ['document.unpublished', 'unpublished: not public since'],
  ['global.updated', 'changed'],
  ['global.restored', 'restored from an earlier version'],
  ['global.draft.updated', 'draft changed, not public'],
  ['global.draft.restored', 'an earlier version restored as a draft, not public'],
  ['global.draft.discarded', 'unpublished changes discarded'],
  ['global.published', 'published'],
  ['review.requested', 'review requested'],
  ['review.withdrawn', 'request for review withdrawn'],
  ['review.refused', 'review refused'],
]);

/** @param {Event} event @param {State['document']} before @param {State['document']} after what it left */
function sectionOf({ header, payload, absent }, before, after) {
  const { version: number, type, recordedAt, actor, position } = header;
  const { data, context } = payload ?? noPayload;
  const facts = [fact('When', html(recordedAt)), fact('Who', quoted(actorText(actor)))];
  if (context.reason !== undefined) facts.push(fact('Why', quoted(context.reason)));
  if (context.ip !== undefined) facts.push(fact('From', quoted(context.ip)));
  facts.push(fact('Event', `${position} of the log`));
  const gone = 'ERASED: what this version said was removed for good. That it took place, when and by whom, is proven.';
  const hidden = 'WITHHELD: what this version said is not for whoever asked for this. That it took place is proven.';
  const isChange = changeWords.has(type) && !isDraftType(type);
  let body = isChange ? changedTable(before ?? {}, after ?? {}) : memberTable(isDraftType(type) ? savedIn(data) : data);
  if (absent !== null) body = `<p class="gone">${absent === 'erased' ? gone : hidden}</p>`;
  return `<h2>Version ${number}: ${html(changeWords.get(type) ?? type)}</h2>\n<dl>${facts.join('')}</dl>\n${body}\n`;
}

/** @param {Record<string, any>} before @param {Record<string, any>} after */
function changedTable(before, after) {
  const own = (/** @type {Record<string, any>} */ state, /** @type {string} */ name) =>
    Object.hasOwn(state, name) ? state[name] : undefined;
  const rows = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, old: own(before, name), now: own(after, name) }))
    .filter(({ old, now }) => !isDeepStrictEqual(old, now))
    .map(({ name, old, now }) => `<tr><th>${quoted(name)}</th><td>${cut(old)}</td><td>${cut(now)}</td></tr>`);
  if (rows.length === 0) return '<p class="none">No field differs from the version before.</p>';
  return `<table><thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

/** @param {Record<string, any>} data */
function memberTable(data) {
  const rows = Object.entries(data).map(([name, value]) => `<tr><th>${quoted(name)}</th><td>${cut(value)}</td></tr>`);
  return rows.length === 0 ? '' : `<table><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

/** A value as the page shows it: no more than 2000 characters. @param {unknown} value */
function cut(value) {
  if (value === undefined || value === null || value === '') return '<span class="none">–</span>';
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  if (text.length <= 2000) return quoted(text);
  return `${quoted(text.slice(0, 2000))}<span class="none"> … (${text.length} characters; whole in bundle.json)</span>`;
}

const columns =
  'position,recordedAt,stream,version,type,actorType,actorId,correlationId,reason,changed,data,id,schemaVersion,payload';

/** @param {Event} event */
function csvRow({ header, payload }) {
  const { position, recordedAt, stream, version: number, type, actor, correlationId, id, schemaVersion } = header;
  const { data, context } = payload ?? noPayload;
  const named = [...Object.keys(isObject(data.set) ? data.set : {}), ...(Array.isArray(data.unset) ? data.unset : [])];
  const changed = named.map(String).filter((name) => name !== 'createdAt' && name !== 'updatedAt');
  const json = payload ? JSON.stringify(data).replaceAll(';', '\\u003b') : '';
  return rowOf([
    ...[position, recordedAt, stream, number, type, actor.type, actor.id ?? '', correlationId],
    ...[context.reason ?? '', changed.join(' '), json, id, schemaVersion, header.payload],
  ]);
}

/** A row of CSV: every cell in quotes. @param {unknown[]} cells */
function rowOf(cells) {
  return `${cells.map((cell) => `"${harmless(String(cell)).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/**
 * The characters that programs pass over before they look whether a cell is a formula, and then the first one that they
 * look at.
 */
const firstLook = /^[\s\p{C}\p{Z}\p{M}"'`´‘’‚‛“”„‟«»‹›＂＇]*(.?)/su;

/**
 * A text with an apostrophe wherever a spreadsheet could take what follows for a formula: at its beginning, and behind
 * what some take for the end of a cell. A text that begins with an apostrophe gets one more.
 *
 * @param {string} text
 */
function harmless(text) {
  // Texts, and what stands between them, in turn. Taken from the last on, none is looked at twice.
  const parts = text.split(/([;\t\r\n])/);
  let isFormula = false;
  for (let index = parts.length - 1; index >= 0; index -= 2) {
    const [part = '', separator = ''] = parts.slice(index, index + 2);
    const [, first = ''] = firstLook.exec(part) ?? [];
    // Where there is nothing to look at, they look behind a tab or the end of a line.
    isFormula = first === '' ? isFormula && separator !== ';' : /^[=+\-@−]/u.test(first.normalize('NFKC'));
    const isBlank = part === '' && separator !== '' && separator !== ';';
    if (isFormula || isBlank || (index === 0 && text.startsWith("'"))) parts[index] = `'${part}`;
  }
  return parts.join('');
}

/** A line of the JSON format of CloudEvents. @param {Event} event */
function cloudEvent({ header, payload, absent }) {
  const { id, log, type, stream, recordedAt, position, version: number, schemaVersion, actor, correlationId } = header;
  const line = {
    ...{ specversion: '1.0', id, source: log, type: `org.annals.${type}`, subject: stream, time: recordedAt },
    ...{ datacontenttype: 'application/json', sequence: String(position).padStart(10, '0'), sequencetype: 'Integer' },
    ...{ version: number, schemaversion: schemaVersion, actortype: actor.type, actorid: actor.id },
    ...{ correlationid: correlationId, payload: header.payload, reason: payload?.context.reason },
    ...{ erased: absent === 'erased' || undefined, withheld: absent === 'withheld' || undefined, data: payload?.data },
  };
  return `${JSON.stringify(line)}\n`;
}

/**
 * @typedef {{ head: string, line: (event: Event) => string }} Form how a file begins, and what it holds of each event
 */

/** @type {Form} */
const csv = { head: `\ufeff${rowOf(columns.split(','))}`, line: csvRow };
/** The forms that are made from NDJSON. @type {Record<string, Form>} */
const forms = { csv, cloudevents: { head: '', line: cloudEvent } };

/**
 * Compares a file with the pieces that it should be made of.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 */
function comparing(chunks) {
  const rest = chunks[Symbol.asyncIterator]();
  /** @type {Buffer} */
  let held = Buffer.alloc(0);
  /** @type {string | null} */
  let difference = null;

  async function hasMore() {
    while (held.length === 0) {
      const { value, done } = await rest.next();
      if (done) return false;
      held = Buffer.from(value.buffer, value.byteOffset, value.length);
    }
    return true;
  }

  /** @param {string} text @param {string} place where that is, if it differs there first */
  async function add(text, place) {
    for (let bytes = Buffer.from(text); bytes.length > 0 && difference === null; ) {
      const length = (await hasMore()) ? Math.min(held.length, bytes.length) : 0;
      const isSame = length > 0 && held.subarray(0, length).equals(bytes.subarray(0, length));
      if (!isSame) difference = place;
      [held, bytes] = [held.subarray(length), bytes.subarray(length)];
    }
  }

  /** The first place where it differs, if it does. */
  async function end() {
    if (difference === null && (await hasMore())) difference = 'what follows its end';
    await close();
    return difference;
  }

  /** A file that is not read to its end stays open otherwise, and reads that were begun with it. */
  async function close() {
    await rest.return?.(undefined);
  }

  return { add, end, close };
}

/**
 * Holds a file that people read against the pieces of it.
 *
 * @param {Source} source
 * @param {{ name: string, pieces: { text: string, place: string }[] }} file
 * @param {Report} report
 */
async function compareWhole(source, { name, pieces }, report) {
  const compared = comparing(source.chunks(name));
  try {
    for (const { text, place } of pieces) await compared.add(text, place);
    noteCompared(name, await compared.end(), report);
  } finally {
    await compared.close();
  }
}

/** @param {string} name @param {string | null} difference @param {Report} report */
function noteCompared(name, difference, report) {
  if (difference === null) report.proven.push(`${name} is what the events make, byte for byte`);
  else report.lies.push(`${name} is not what the events make: it differs first in ${difference}`);
}

/**
 * Holds README.txt, if it is there, against its first lines and the text that follows them.
 *
 * @param {Source} source
 * @param {{ head: string | null, rest: string }} text `head` is null where it is not known, `rest` the SHA-256 of the
 * text behind it
 * @param {Report} report
 */
async function checkReadme(source, { head, rest }, report) {
  if (!source.names.includes('README.txt')) return;
  if (head === null) {
    report.open.push('README.txt: for readers, from before it could be made again');
    report.but.push('README.txt is not compared');
    return;
  }
  const isShort = source.size('README.txt') <= limits.note;
  const bytes = isShort ? await readAll(source, 'README.txt', limits.note) : Buffer.alloc(0);
  const length = Buffer.byteLength(head);
  const isSame =
    bytes.subarray(0, length).equals(Buffer.from(head)) && sha256(bytes.subarray(length)).toString('hex') === rest;
  if (isSame) report.proven.push('README.txt is the text that belongs there');
  else report.lies.push('README.txt is not the text that belongs there');
}

/**
 * True where the texts beside the data say that they are written as this verifier writes them, false where they are
 * older and say nothing. The verifier inside cannot be made again: the maker of the rest made that as well.
 *
 * @param {Source} source
 * @param {{ texts: unknown, beside: string[] }} thing the version of the texts of a bundle or a manifest, and the names
 * of those made again
 * @param {Report} report
 */
function knowsTexts(source, { texts, beside }, report) {
  if (source.names.includes('annals-verify.mjs'))
    report.open.push('annals-verify.mjs inside: never to be trusted, who made the rest made that too');
  const there = beside.filter((name) => source.names.includes(name));
  decidable(
    texts === undefined || texts === textsVersion || there.length === 0,
    `${there.join(' and ')} may be written in a way that this verifier does not know (texts ${show(texts)}): take a newer one`,
  );
  return texts === textsVersion;
}

/**
 * A file that is written where somebody asked for it. It has its name when all that it says is proven, and not before.
 *
 * @param {string} file
 */
function outFile(file) {
  const partial = `${file}.partial`;
  for (const each of [file, partial])
    decidable(!fs.existsSync(each), `${show(each)} is there, and nothing is overwritten`);
  /** @type {number | null} */
  let handle = null;
  let held = '';

  function flush() {
    // It may hold what is personal.
    handle ??= fs.openSync(partial, 'wx', 0o600);
    fs.writeFileSync(handle, held);
    held = '';
  }

  return {
    file,
    /** @param {string} text */
    add(text) {
      held += text;
      if (held.length > MiB) flush();
    },
    keep() {
      flush();
      fs.closeSync(/** @type {number} */ (handle));
      handle = null;
      fs.renameSync(partial, file);
    },
    drop() {
      if (handle === null) return;
      fs.closeSync(handle);
      handle = null;
      fs.rmSync(partial);
    },
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// 10. Bundles
// ---------------------------------------------------------------------------------------------------------------------

const schemaStream = 'system/schema';

const bundleMembers = {
  required: 'format,origin,verifierKey,checkpoint,stream,streams,events,schemas,erasures,versions,files'.split(','),
  optional: ['document', 'earlier', 'rest', 'corrections', 'losses', 'texts', 'signedAt', 'stamped', 'handovers'],
};

/** The files of a bundle, beside those that users sent. */
const bundleFiles = ['bundle.json', 'checkpoint.txt', 'summary.html', 'README.txt', 'annals-verify.mjs'];

/**
 * Checks an evidence bundle of one document: docs/verifying.md, `annals-bundle/1`.
 *
 * @param {Source} source
 * @param {Check} check
 */
async function checkBundle(source, check) {
  const { options, report } = check;
  const bundle = await readJson(source, 'bundle.json');
  decidable(
    isObject(bundle) && bundle.format === 'annals-bundle/1',
    `bundle.json is no bundle of format 1: ${show(bundle?.format)}`,
  );
  checkMembers(bundle, 'bundle.json', bundleMembers);
  const other = source.names.find((name) => !bundleFiles.includes(name) && !name.startsWith('files/'));
  decidable(other === undefined, `${show(other)} is in the bundle, and belongs to none`);
  decidable(options.table === null, '--csv goes with exports only');
  const { checkpoint, kept, stamped, handed } = await openShown(source, { thing: bundle, what: 'bundle' }, check);
  const { stream, streams } = bundle;
  const isNamed = Array.isArray(streams) && streams[0] === stream && streams.every((name) => typeof name === 'string');
  must(isNamed && new Set(streams).size === streams.length, 'bundle.json does not say which streams it shows');
  report.facts.stream = stream;

  const events = readList(bundle.events, checkpoint, 'events');
  const schemas = readList(bundle.schemas, checkpoint, 'schemas');
  const erasures = readList(bundle.erasures, checkpoint, 'erasures');
  must(schemas[0]?.header.position === 1, 'the schema with which every log begins, event 1, is not shown');
  const stranger = events.find(({ header }) => !streams.includes(header.stream))?.header;
  must(!stranger, `${stranger && nameOf(stranger)} is of no stream that the bundle is about`);
  const noSchema = schemas.find(({ header, payload }) => header.stream !== schemaStream || !payload)?.header;
  must(!noSchema, `${noSchema && nameOf(noSchema)} is no schema with its payload`);
  const noErasure = erasures.find(({ header, payload }) => header.type !== 'document.erased' || !payload)?.header;
  must(!noErasure, `${noErasure && nameOf(noErasure)} is no erasure with its payload`);

  const whole = new Set([...streams, schemaStream]);
  const losses = readList(bundle.losses ?? [], checkpoint, 'losses');
  const noLoss = losses.find(({ header, payload }) => header.stream !== filesStream || !payload)?.header;
  must(!noLoss, `${noLoss && nameOf(noLoss)} does not say with its payload what became of a file`);
  const corrections = readCorrections(bundle, checkpoint);
  const journal = openJournal({ after: null, shows: (name) => (whole.has(name) ? 'whole' : 'some'), corrections });
  const all = [...events, ...schemas, ...erasures, ...losses].sort((a, b) => a.header.position - b.header.position);
  for (const event of all) journal.add(event);
  const found = journal.settle();
  checkVersions(bundle.versions, streams, found.versions);
  report.facts.events = found.count;
  noteNewest(found.last, report);
  report.proven.push(
    `${counted(events.length, 'event')} of ${streams.map(show).join(', ')} ${events.length === 1 ? 'is' : 'are'} in the log, versions 1 to ${found.versions.get(stream)} without gaps`,
  );
  report.proven.push(
    `${counted(schemas.length, "schema of the log's time is", "schemas of the log's time are")} in the log`,
  );
  reportPayloads(found, report);
  const roots = rootsAt([...kept, ...stamped, ...handed]);
  const later = checkRest(bundle.rest, { shown: all, streams, versions: found.versions, checkpoint, roots }, report);
  reportTimes({ ...found, corrected: new Set([...found.corrected, ...later]) }, report);
  const shown = { checkpoint, earlier: bundle.earlier, roots: roots.found };
  const sure = checkKept({ kept, stamped, handed }, shown, check);
  const seen = [{ what: 'the checkpoint', checkpoint }, ...[...kept, ...stamped].filter((each) => sure.has(each))];
  reportOutside(seen, found.last?.position ?? 0, check);
  const { declarations, fates } = found;
  const named = checkDocument(bundle, { events, declarations }, report);
  await checkFiles(source, { list: bundle.files, named, fates }, report);
  await checkBundleTexts(source, { bundle, checkpoint, events, erasures: declarations }, check);
}

/**
 * The page of a bundle and its README, which have to be what is proven by now.
 *
 * @param {Source} source
 * @param {{ bundle: Record<string, any>, checkpoint: Checkpoint, events: Event[], erasures: Declaration[] }} proven
 * @param {Check} check
 */
async function checkBundleTexts(source, { bundle, checkpoint, events, erasures }, { options, report }) {
  const isKnown = knowsTexts(source, { texts: bundle.texts, beside: ['README.txt', 'summary.html'] }, report);
  const said = isKnown ? bundle.signedAt : await signedAtIn(source);
  must(!isKnown || isTime(said), `signedAt is ${show(said)}`);
  const { time } = checkpoint;
  must(!isKnown || time === null || said === time, `signedAt is ${show(said)}, the checkpoint says ${time}`);
  const signedAt = time ?? said;
  const { stream } = bundle;
  const pieces = pageOf({
    ...{ stream, checkpoint, signedAt },
    events: events.filter(({ header }) => header.stream === stream),
    erasures: erasures.filter((each) => each.stream === stream),
  });
  for (const { text } of options.page ? pieces : []) options.page?.add(text);
  if (source.names.includes('summary.html')) await compareWhole(source, { name: 'summary.html', pieces }, report);
  const head = isKnown ? bundleHead(bundle, signedAt) : null;
  await checkReadme(source, { head, rest: readmes.bundle }, report);
  if (time === null && signedAt !== '') report.open.push(`when the checkpoint was signed: the bundle says ${signedAt}`);
  if (options.at === null) return;
  const isCovered = signedAt !== '' && options.at <= signedAt;
  if (isCovered) report.facts.at = publicAt(options.at, { stream, events, erasures });
  else report.unproven.push(`the bundle says nothing of ${options.at}: it ends at ${signedAt || 'its checkpoint'}`);
}

/**
 * The public state of the document of a bundle at a time: the newest event until then that changed it, and the document
 * that it left; null if that was erased since.
 *
 * @param {string} time
 * @param {{ stream: string, events: Event[], erasures: Declaration[] }} shown
 */
function publicAt(time, { stream, events, erasures }) {
  decidable(!stream.startsWith('accounts/'), '--at goes with bundles of documents and globals');
  const own = events.filter(({ header }) => header.stream === stream);
  const until = own.findLastIndex(({ header }) => header.recordedAt <= time);
  const then = own.slice(0, until + 1);
  const state = publicStates(then).at(-1);
  if (!state || state.until !== null) return { time, public: false };
  const last = then.at(-1)?.header.position ?? 0;
  const { document, isKnown } = fold(
    then,
    erasures.filter((each) => each.stream === stream && each.position <= last),
    () => {},
  );
  const { version: number, recordedAt, actor } = state.header;
  const isErased = document === null || !isKnown || then.some(({ absent }) => absent === 'erased');
  const found = { time, public: true, version: number, since: recordedAt, by: actor };
  return isErased ? { ...found, document: null, erased: true } : { ...found, document };
}

/**
 * When the page of an older bundle says that the checkpoint was signed, which stands nowhere else. @param {Source}
 * source
 */
async function signedAtIn(source) {
  let start = '';
  for await (const chunk of source.names.includes('summary.html') ? source.chunks('summary.html') : []) {
    start += Buffer.from(chunk).toString('latin1');
    if (start.length > MiB) break;
  }
  const [, found] = /<dt>Signed<\/dt><dd>([\w:.-]+) \(UTC\)<\/dd>/.exec(start) ?? [];
  return isTime(found) ? String(found) : '';
}

/** @param {unknown} list @param {Checkpoint} checkpoint @param {string} what */
function readList(list, checkpoint, what) {
  must(Array.isArray(list), `${what} is not a list`);
  const events = list.map((shown, index) => readShown(shown, checkpoint, `${what}[${index}]`));
  for (const [index, { header }] of events.entries()) {
    const before = events[index - 1]?.header.position ?? 0;
    must(header.position > before, `${nameOf(header)} is out of order: it comes after event ${before}`);
  }
  return events;
}

/**
 * The corrections of the clock that are shown beside events. @param {Record<string, any>} thing @param {Checkpoint}
 * checkpoint
 */
function readCorrections(thing, checkpoint) {
  const corrections = readList(thing.corrections ?? [], checkpoint, 'corrections');
  const stranger = corrections.find(({ header }) => header.stream !== clockStream)?.header;
  must(!stranger, `${stranger && nameOf(stranger)} is no correction of the clock`);
  return corrections;
}

/** @param {unknown} claimed @param {string[]} streams @param {Map<string, number>} shown */
function checkVersions(claimed, streams, shown) {
  must(
    isObject(claimed) && isDeepStrictEqual(new Set(Object.keys(claimed)), new Set(streams)),
    'versions names other streams',
  );
  for (const stream of streams) {
    const last = shown.get(stream) ?? 0;
    must(
      claimed[stream] === last,
      `${show(stream)} is said to have ${show(claimed[stream])} versions, ${last} ${last === 1 ? 'is' : 'are'} shown`,
    );
  }
  must(shown.has(String(streams[0])), `no event of ${show(streams[0])} is shown`);
}

/** @param {{ erased: number, withheld: number, count: number }} found @param {Report} report */
function reportPayloads({ erased, withheld, count }, report) {
  report.proven.push(
    `${counted(count - erased - withheld, 'payload is the one that its header commits', 'payloads are those that their headers commit')} to`,
  );
  if (erased > 0)
    report.proven.push(`${counted(erased, 'payload is', 'payloads are')} gone, as events of the log declare`);
  if (withheld > 0)
    report.open.push(
      `${counted(withheld, 'payload was', 'payloads were')} withheld: that the ${withheld === 1 ? 'event was recorded is proven, what it says' : 'events were recorded is proven, what they say'} is not`,
    );
}

/** @param {{ corrected: Set<number>, keys: KeyWords[] }} found @param {Report} report */
function reportTimes({ corrected, keys }, report) {
  for (const { words, handover } of keys)
    if (!handover || !report.followed.has(textUnderneath(handover.checkpoint))) report.open.push(words);
  if (corrected.size === 0) return;
  const where = [...corrected].sort((a, b) => a - b).join(', ');
  report.open.push(`when events were recorded that stand before event ${where}, where the clock was corrected`);
}

/**
 * All headers after the last events that are shown, up to the checkpoint: then no later version can have been left out.
 *
 * @param {unknown} rest
 * @param {{ shown: Event[], streams: string[], versions: Map<string, number>, checkpoint: Checkpoint,
 *   roots: ReturnType<typeof rootsAt> }} bundle
 * @param {Report} report
 * @returns {Set<number>} where among these headers the clock was corrected
 */
function checkRest(rest, { shown, streams, versions, checkpoint, roots }, report) {
  if (rest === undefined) {
    const last = [...streams, schemaStream].map((name) => `${versions.get(name) ?? 0} of ${show(name)}`).join(', ');
    report.open.push(`whether there are later versions than ${last}: a complete bundle or the whole log shows that`);
    return new Set();
  }
  must(isObject(rest), 'rest is no object');
  checkMembers(rest, 'rest', { required: ['after', 'before', 'headers'] });
  const { after, headers } = rest;
  const lasts = streams.map((name) => shown.findLast(({ header }) => header.stream === name)?.header.position ?? 0);
  must(after === Math.min(...lasts), `rest begins after event ${show(after)}, not after the last that is shown`);
  must(Array.isArray(headers), 'the headers of rest are no list');
  const tree = growingTree(after, hashesFrom(rest.before, 'before in rest'));
  const journal = openJournal({ after, shows: () => 'tail' });
  const texts = new Map(shown.map(({ header, text }) => [header.position, text]));
  roots.look(tree);
  for (const text of headers) {
    must(typeof text === 'string', 'a header of rest is no text');
    const header = readHeader(text, checkpoint.origin, `event ${tree.size() + 1}`);
    const leaf = leafHash(Buffer.from(text));
    journal.add({ header, text, leaf, payload: null, absent: 'left out' });
    const isShown = texts.get(header.position) === text;
    must(
      isShown || ![...streams, schemaStream].includes(header.stream),
      `${nameOf(header)} was left out of the events`,
    );
    tree.add(leaf);
    roots.look(tree);
  }
  must(tree.size() === checkpoint.size, `rest ends at event ${tree.size()}, the checkpoint is of ${checkpoint.size}`);
  must(tree.root().equals(checkpoint.root), 'the headers in rest are not those of the log');
  noteNewest(journal.settle().last, report);
  report.proven.push(`up to event ${checkpoint.size} there is no later version of ${streams.map(show).join(', ')}`);
  const lastSchema = shown.findLast(({ header }) => header.stream === schemaStream)?.header;
  if ((lastSchema?.position ?? 0) <= after) {
    report.open.push(`whether there was a schema after version ${lastSchema?.version ?? 0}, up to event ${after}`);
  }
  return journal.settle().corrected;
}

/**
 * @param {Record<string, any>} bundle
 * @param {{ events: Event[], declarations: Declaration[] }} proven
 * @param {Report} report
 * @returns {Map<string, { header: Header, bytes: number }>} the files that the document ever was, and the first event
 * of each
 */
function checkDocument(bundle, { events, declarations }, report) {
  const { stream, document } = bundle;
  const isShown = Object.hasOwn(bundle, 'document');
  const files = new Map();
  if (/^(accounts|system)\//.test(stream)) {
    must(!isShown, `${show(stream)} is no document, and one is shown`);
    return files;
  }
  const own = events.filter(({ header }) => header.stream === stream);
  const erasures = declarations.filter((each) => each.stream === stream);
  const state = fold(own, erasures, ({ document: now }, header) => {
    const { sha256, filename, filesize } = now ?? {};
    const isFile = isFileName(sha256) && typeof filename === 'string' && typeof filesize === 'number';
    if (isFile && !files.has(sha256)) files.set(sha256, { header, bytes: filesize });
  });
  if (!state.isKnown) {
    must(!isShown, 'a document is shown, and the payloads that would prove it are withheld');
    report.open.push('what the document says: payloads that it needs were withheld');
    return files;
  }
  must(isShown, 'the events prove what the document says, and the bundle does not show it');
  const isSame = isDeepStrictEqual(document, state.document);
  must(isSame, `the document is not what its events make: ${difference(document, state.document)}`);
  report.proven.push(
    state.document ? 'the document is what its events make' : 'the document is gone, as its events say',
  );
  return files;
}

/** @param {unknown} shown @param {unknown} made */
function difference(shown, made) {
  if (!isObject(shown) || !isObject(made)) return isObject(shown) ? 'they leave none' : 'they make one, none is shown';
  const names = [...new Set([...Object.keys(made), ...Object.keys(shown)])];
  return `they differ in ${names
    .filter((name) => !isDeepStrictEqual(shown[name], made[name]))
    .map(show)
    .join(', ')}`;
}

/**
 * The bytes of the files, which are to be those that the events name.
 *
 * @param {Source} source
 * @param {{ list: unknown, named: ReturnType<typeof checkDocument>, fates: Map<string, Fate> }} files those that the
 * bundle lists, and those that events name
 * @param {Report} report
 */
async function checkFiles(source, { list, named, fates }, report) {
  must(Array.isArray(list), 'files is not a list');
  const listed = new Set();
  const included = new Set();
  let missing = 0;
  for (const file of list) {
    must(isObject(file), 'files holds something that is not a file');
    checkMembers(file, 'a file in files', {
      required: ['sha256', 'bytes', 'version', 'included'],
      optional: ['missing'],
    });
    const first = named.get(file.sha256);
    const what = `the file ${show(file.sha256)}`;
    must(first && !listed.has(file.sha256), `no event names ${what}, or files names it twice`);
    const { header, bytes } = first;
    must(header.version === file.version, `${what} came with version ${header.version}, not ${show(file.version)}`);
    must(
      bytes === file.bytes,
      `${what} has ${counted(bytes, 'byte')}, as ${nameOf(header)} says, not ${show(file.bytes)}`,
    );
    must(typeof file.included === 'boolean', `${what} is neither included nor not`);
    const isLost = file.missing === true && !file.included;
    must(isLost || file.missing === undefined, `${what} is said to be missing and included`);
    listed.add(file.sha256);
    if (file.missing) report.open.push(`what is in ${what} of version ${file.version}: ${fateOf(fates, header)}`);
    if (file.missing) missing += 1;
    if (!file.included) continue;
    await checkFile(source, { name: file.sha256, bytes }, nameOf(header));
    included.add(`files/${file.sha256}`);
  }
  for (const [sha256, { header }] of named) {
    must(listed.has(sha256), `${nameOf(header)} names the file ${sha256}, files does not`);
  }
  const extra = source.names.find((name) => name.startsWith('files/') && !included.has(name));
  must(extra === undefined, `${show(extra)} is in the bundle, and files does not say so`);
  if (included.size > 0) report.proven.push(wholeFiles(included.size));
  const left = listed.size - included.size - missing;
  if (left > 0)
    report.open.push(
      `${counted(left, 'file that the events name is', 'files that the events name are')} not in the bundle`,
    );
}

/** Words for files that were read and proven. @param {number} count */
function wholeFiles(count) {
  return `${counted(count, 'file is', 'files are')}, byte for byte, ${count === 1 ? 'the one' : 'those'} that the events name`;
}

/** @param {Source} source @param {{ name: string, bytes: number }} expected @param {string} event */
async function checkFile(source, { name, bytes }, event) {
  const file = `files/${name}`;
  must(source.names.includes(file), `${event} names the file ${name}, and it is not in the bundle`);
  must(source.size(file) === bytes, `the file ${name} has ${counted(source.size(file), 'byte')}, not ${bytes}`);
  const hash = crypto.createHash('sha256');
  for await (const chunk of source.chunks(file)) hash.update(chunk);
  must(hash.digest('hex') === name, `the file ${name} of ${event} was altered: its SHA-256 is another one`);
}

/**
 * The checkpoint of a bundle or an export, under the right key, and of the log that is named.
 *
 * @param {Source} source
 * @param {{ thing: Record<string, any>, what: string }} shown a bundle or a manifest, and its name
 * @param {Check} check
 */
async function openShown(source, { thing, what }, check) {
  const { options, report } = check;
  const { keys, followed, signer } = keysFor(thing, `the ${what}`, check);
  const checkpoint = openCheckpoint(thing.checkpoint, keys, `the checkpoint of the ${what}`);
  must(
    thing.origin === checkpoint.origin,
    `the ${what} names the log ${show(thing.origin)}, its checkpoint ${show(checkpoint.origin)}`,
  );
  reportCheckpoint(checkpoint, report);
  report.proven.push(`the checkpoint, of ${counted(checkpoint.size, 'event')}, is signed by ${signer}`);
  const handed = reportHandovers(followed, checkpoint.size, report);
  if (checkpoint.time !== null)
    report.open.push(
      `whether the clock was right by which the checkpoint says that it was signed at ${checkpoint.time}`,
    );
  if (source.names.includes('checkpoint.txt')) {
    const text = textOf(await readAll(source, 'checkpoint.txt', limits.note), 'checkpoint.txt');
    must(text === checkpoint.text, `checkpoint.txt is not the checkpoint of the ${what}`);
  }
  const stamped = openStamped(thing.stamped, { keys, checkpoint }, report);
  return { checkpoint, kept: openKept(options, keys, checkpoint.origin), stamped, handed };
}

// ---------------------------------------------------------------------------------------------------------------------
// 11. Exports
// ---------------------------------------------------------------------------------------------------------------------

/** @typedef {{ checkpoint: Checkpoint, withPayloads: boolean, withProofs: boolean }} ExportFile */
/** @typedef {(chunks: AsyncIterable<Uint8Array>, file: ExportFile) => AsyncGenerator<Event>} EventReader */

const eventFiles = { ndjson: 'events.ndjson', csv: 'events.csv', cloudevents: 'events.cloudevents.ndjson' };

/** How each kind of filter looks at a header. @type {Record<string, (header: Header) => (string | undefined)[]>} */
const filters = {
  // The collection, the global, or in accounts/… and system/… both the kind of stream and what it is about. Releases
  // have streams of their own.
  collection: ({ stream }) => {
    const [category = '', slug] = stream.split('/');
    if (category === 'accounts') return [category, `${category}/${slug}`];
    if (stream.startsWith('system/releases/')) return [category, 'system/releases'];
    return category === 'globals' || category === 'system' ? [category, stream] : [category];
  },
  stream: ({ stream }) => [stream],
  type: ({ type }) => [type],
  actor: ({ actor }) => [actor.id, actor.type],
};

/**
 * Of types there may be several, with commas between. @type {(filter: string, wanted: string, header: Header) =>
 * boolean}
 */
function fitsFilter(filter, wanted, header) {
  const values = filter === 'type' ? wanted.split(',') : [wanted];
  return values.some((value) => filters[filter]?.(header).includes(value));
}

const manifestMembers = {
  required:
    'format,origin,verifierKey,checkpoint,file,kind,from,to,events,bytes,sha256,filters,withPayloads,erasures'.split(
      ',',
    ),
  optional: [
    ...['before', 'consistency', 'corrections', 'earlier', 'software', 'madeAt', 'texts', 'source', 'stamped'],
    'handovers',
  ],
};

/**
 * An export by its manifest. `proven` says which file the proofs are about: of an export as CSV or CloudEvents the
 * NDJSON beside it, which that is made from by `form`; `dataKind` is the kind of that file.
 *
 * @typedef {{ manifest: Record<string, any>, file: string, proven: Record<string, any>, form: Form | null, dataKind:
 * string }} Exported
 */

/**
 * Checks an export of a range of the log: docs/verifying.md, `annals-export/1`.
 *
 * @param {Source} source
 * @param {Check} check
 */
async function checkExport(source, check) {
  const { options, report } = check;
  const manifest = await readManifest(source);
  decidable(options.page === null, '--summary goes with bundles only');
  const exported = filesOf(source, manifest);
  const { file, proven, form, dataKind } = exported;
  const { checkpoint, kept, stamped, handed } = await openShown(source, { thing: manifest, what: 'export' }, check);
  checkRange(source, exported, checkpoint);
  decidable(!options.table || dataKind === 'ndjson', `there is no NDJSON of which --csv could be made`);

  const tree = treeBefore(manifest);
  const { from } = manifest;
  const journal = openJournal({
    after: tree ? from - 1 : null,
    shows: () => (tree ? (from === 1 ? 'whole' : 'tail') : 'some'),
    corrections: readCorrections(manifest, checkpoint),
  });
  const roots = rootsAt([...kept, ...stamped, ...handed]);
  const hash = crypto.createHash('sha256');
  const otherHash = crypto.createHash('sha256');
  const other = form && comparing(hashing(source.chunks(file), otherHash));
  try {
    await other?.add(form?.head ?? '', 'its first line');
    options.table?.add(csv.head);
    if (tree) roots.look(tree);
    for await (const event of eventsWithin(hashing(source.chunks(proven.file), hash), exported, checkpoint)) {
      journal.add(event);
      tree?.add(event.leaf);
      if (tree) roots.look(tree);
      if (other && form) await other.add(form.line(event), nameOf(event.header));
      options.table?.add(csv.line(event));
      options.progress(event.header.position - from + 1);
    }
    const found = journal.settle(declaredIn(manifest, checkpoint));
    must(hash.digest('hex') === proven.sha256, `${proven.file} was altered: its SHA-256 is not that of the manifest`);
    reportRange({ ...found, tree }, { ...exported, checkpoint }, report);
    reportTimes(found, report);
    reportContents({ ...found, tree }, exported, report);
    const shown = { checkpoint, earlier: manifest.earlier, roots: roots.found };
    const sure = checkKept({ kept, stamped, handed }, shown, check);
    const seen = [{ what: 'the checkpoint', checkpoint }, ...[...kept, ...stamped].filter((each) => sure.has(each))];
    reportOutside(seen, found.last?.position ?? 0, check);
    const beside = form === null ? ['README.txt'] : ['README.txt', file];
    const isKnown = knowsTexts(source, { texts: manifest.texts, beside }, report);
    if (other) {
      noteCompared(file, await other.end(), report);
      const isSummed = report.lies.length > 0 || otherHash.digest('hex') === manifest.sha256;
      must(isSummed, `the manifest says another SHA-256 of ${file} than it has`);
    }
    must(!isKnown || isTime(manifest.madeAt), `madeAt is ${show(manifest.madeAt)}`);
    await checkReadme(source, { head: isKnown ? exportHead(manifest) : null, rest: readmes.export }, report);
    if (isKnown) report.open.push(`when the export was made: its manifest says ${manifest.madeAt}`);
  } finally {
    await other?.close();
  }
}

/** @param {Source} source */
async function readManifest(source) {
  const manifest = await readJson(source, 'manifest.json');
  decidable(
    isObject(manifest) && manifest.format === 'annals-export/1',
    `manifest.json is of no export of format 1: ${show(manifest?.format)}`,
  );
  checkMembers(manifest, 'manifest.json', manifestMembers);
  return manifest;
}

/** @param {Source} source @param {Record<string, any>} manifest @returns {Exported} */
function filesOf(source, manifest) {
  const { kind } = manifest;
  decidable(
    Object.hasOwn(eventFiles, kind),
    `the manifest names the format ${show(kind)}, which this verifier does not know`,
  );
  const file = eventFiles[/** @type {keyof typeof eventFiles} */ (kind)];
  must(manifest.file === file && source.names.includes(file), `the manifest does not name ${file}, or it is not there`);
  const proven = manifest.source === undefined ? manifest : readSource(manifest.source, kind);
  const form = proven === manifest ? null : (forms[kind] ?? null);
  const held = [file, proven.file, 'manifest.json', 'checkpoint.txt', 'README.txt', 'annals-verify.mjs'];
  const others = source.names.filter((name) => !held.includes(name));
  must(others.length === 0, `${show(others[0])} is in the export, and its manifest does not say so`);
  return { manifest, file, proven, form, dataKind: form === null ? kind : 'ndjson' };
}

/**
 * The range, the filters and the sizes of an export. @param {Source} source @param {Exported} exported @param
 * {Checkpoint} checkpoint
 */
function checkRange(source, { manifest, proven }, checkpoint) {
  const { from, to, filters: wanted, withPayloads } = manifest;
  const isRange = isWhole(from, 1) && isWhole(to, from - 1) && to <= checkpoint.size;
  must(
    isRange,
    `the range ${show(from)} to ${show(to)} is not one of the ${counted(checkpoint.size, 'event')} of the checkpoint`,
  );
  must(typeof withPayloads === 'boolean', 'withPayloads is neither true nor false');
  must(isObject(wanted), 'filters is no object');
  for (const [name, value] of Object.entries(wanted)) {
    decidable(
      Object.hasOwn(filters, name),
      `the export has the filter ${show(name)}, which this verifier does not know`,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they could write lines of README.txt
    must(typeof value === 'string' && !/[\x00-\x1f\x7f]/.test(value), `the filter ${name} is no text`);
  }
  for (const each of [proven, manifest]) {
    must(source.names.includes(each.file), `${each.file} is not there`);
    const fits = isWhole(each.bytes, 0) && source.size(each.file) === each.bytes;
    must(fits, `${each.file} has ${counted(source.size(each.file), 'byte')}, the manifest says ${show(each.bytes)}`);
  }
}

/**
 * The tree before the first event of a range; null for an export with filters. @param {Record<string, any>} manifest
 */
function treeBefore({ from, filters: wanted, before, consistency }) {
  const isWholeRange = Object.keys(wanted).length === 0;
  must(isWholeRange || (before === undefined && consistency === undefined), 'an export with filters proves no range');
  return isWholeRange ? growingTree(from - 1, hashesFrom(before, 'before')) : null;
}

/**
 * The events of an export, each of which must be in its range and fit its filters.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @param {Exported} exported
 * @param {Checkpoint} checkpoint
 */
async function* eventsWithin(chunks, { manifest, dataKind }, checkpoint) {
  const { from, to, filters: wanted, withPayloads } = manifest;
  const names = Object.keys(wanted);
  const eventsIn = readers[/** @type {keyof typeof readers} */ (dataKind)];
  for await (const event of eventsIn(chunks, { checkpoint, withPayloads, withProofs: names.length > 0 })) {
    const { header } = event;
    const isWithin = header.position >= from && header.position <= to;
    must(isWithin, `${nameOf(header)} is not in the range ${from} to ${to}`);
    const unfit = names.find((filter) => !fitsFilter(filter, wanted[filter], header));
    must(unfit === undefined, `${nameOf(header)} does not fit the filter ${unfit}`);
    yield event;
  }
}

/**
 * The erasures that a manifest shows, of events of the export. @param {Record<string, any>} manifest @param
 * {Checkpoint} checkpoint
 */
function declaredIn(manifest, checkpoint) {
  return readList(manifest.erasures, checkpoint, 'erasures').flatMap(({ header, payload }) => {
    must(header.type === 'document.erased' && payload, `${nameOf(header)} is no erasure with its payload`);
    return erasedBy(header, payload.data);
  });
}

/**
 * @typedef {ReturnType<ReturnType<typeof openJournal>['settle']> & { tree: ReturnType<typeof growingTree> | null }}
 * Found
 */

/**
 * Reports the proof by the number of events, and by the tree over them. @param {Found} found @param {Exported & {
 * checkpoint: Checkpoint }} exported @param {Report} report
 */
function reportRange({ count, last, tree }, { manifest, file, proven, dataKind, checkpoint }, report) {
  const { from, to, kind } = manifest;
  must(
    count === manifest.events,
    `${proven.file} holds ${counted(count, 'event')}, the manifest says ${show(manifest.events)}`,
  );
  report.facts.events = count;
  if (tree || dataKind === 'ndjson') noteNewest(last, report);
  if (tree) {
    must(tree.size() === to, `event ${tree.size() + 1} is missing: the export ends before ${to}`);
    const proof = hashesFrom(manifest.consistency, 'consistency', 128);
    must(
      isConsistent({ size: to, root: tree.root() }, checkpoint, proof),
      `the events ${from} to ${to} are not those of the log: the tree over them does not lead to the checkpoint`,
    );
    report.proven.push(
      count === 1
        ? `event ${from} is there, unaltered`
        : `all ${count} events from ${from} to ${to} are there, unaltered and in their order`,
    );
  } else if (dataKind === 'ndjson') {
    report.proven.push(count === 1 ? 'the 1 event is in the log' : `each of the ${count} events is in the log`);
    report.open.push('whether events that fit the filters were left out');
  } else {
    report.open.push(`the contents of ${file}: an export as ${kind} with filters holds no proofs, only NDJSON does`);
  }
}

/** @param {Found} found @param {Exported} exported @param {Report} report */
function reportContents(found, { manifest, file, dataKind }, report) {
  if (dataKind !== 'ndjson') {
    report.open.push('data, reasons and changed fields: only NDJSON holds the payloads as they were hashed');
    report.but.push(
      found.tree ? `what ${file} says of data, reasons and changes is not proven` : `nothing in ${file} is proven`,
    );
  } else if (manifest.withPayloads) reportPayloads(found, report);
  else report.open.push('what the events say: the export is one of headers');
}

/**
 * Reads the part of a manifest about the NDJSON that goes along with another format.
 *
 * @param {unknown} source
 * @param {string} kind
 */
function readSource(source, kind) {
  must(isObject(source) && kind !== 'ndjson', 'source is no file beside another format');
  checkMembers(source, 'source in the manifest', { required: ['file', 'bytes', 'sha256'] });
  must(source.file === eventFiles.ndjson, `source names ${show(source.file)}, not ${eventFiles.ndjson}`);
  return source;
}

/** @param {AsyncIterable<Uint8Array>} chunks @param {crypto.Hash} hash */
async function* hashing(chunks, hash) {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** The events in a file of each kind. @type {{ ndjson: EventReader, csv: EventReader, cloudevents: EventReader }} */
const readers = { ndjson: readNdjson, csv: readCsv, cloudevents: readCloudEvents };

/** @param {AsyncIterable<Uint8Array>} chunks @param {ExportFile} file @returns {AsyncGenerator<Event>} */
async function* readNdjson(chunks, { checkpoint, withPayloads, withProofs }) {
  let number = 0;
  for await (const bytes of linesOf(chunks)) {
    number += 1;
    const at = `line ${number}`;
    const line = parseExactly(textOf(bytes, at), at);
    const names = isObject(line) ? Object.keys(line).join() : '';
    const fits = /^header,payload(,erased|,withheld)?(,proof)?$/.test(names) && names.endsWith('proof') === withProofs;
    must(fits && isObject(line.header), `${at} has another form`);
    // The line is exactly what JSON.stringify makes of it, so its parts are exactly what JSON.stringify makes of them.
    const shown = {
      ...line,
      header: JSON.stringify(line.header),
      payload: line.payload && JSON.stringify(line.payload),
    };
    const event = withProofs ? readShown(shown, checkpoint, at) : readEvent(shown, checkpoint.origin, at);
    must(
      withPayloads || (event.payload === null && !line.erased && !line.withheld),
      `${at} has a payload, in an export of headers`,
    );
    const isUnsaid = withPayloads && event.payload === null && !line.erased && !line.withheld;
    must(!isUnsaid, `${nameOf(event.header)}: its payload is missing, and the line does not say why`);
    if (!withPayloads) event.absent = 'left out';
    yield event;
  }
}

const cloudEventMembers = {
  required:
    'specversion,id,source,type,subject,time,datacontenttype,sequence,sequencetype,version,schemaversion,actortype,correlationid,payload'.split(
      ',',
    ),
  optional: ['actorid', 'reason', 'erased', 'withheld', 'data'],
};

/** @param {AsyncIterable<Uint8Array>} chunks @param {ExportFile} file @returns {AsyncGenerator<Event>} */
async function* readCloudEvents(chunks, { checkpoint: { origin } }) {
  let number = 0;
  for await (const bytes of linesOf(chunks)) {
    number += 1;
    const at = `line ${number}`;
    const line = parseExactly(textOf(bytes, at), at);
    must(isObject(line), `${at} is no event`);
    checkMembers(line, at, cloudEventMembers);
    const isTyped = line.specversion === '1.0' && typeof line.type === 'string' && line.type.startsWith('org.annals.');
    const isNumbered = line.sequence === String(Number(line.sequence)).padStart(10, '0');
    must(isTyped && isNumbered && line.sequencetype === 'Integer', `${at} is no CloudEvent of Annals`);
    yield rebuilt(origin, at, {
      actor: { ...(line.actorid === undefined ? {} : { id: line.actorid }), type: line.actortype },
      correlationId: line.correlationid,
      id: line.id,
      log: line.source,
      payload: line.payload,
      position: Number(line.sequence),
      recordedAt: line.time,
      schemaVersion: line.schemaversion,
      stream: line.subject,
      type: line.type.slice('org.annals.'.length),
      v: 1,
      version: line.version,
    });
  }
}

/** @param {AsyncIterable<Uint8Array>} chunks @param {ExportFile} file @returns {AsyncGenerator<Event>} */
async function* readCsv(chunks, { checkpoint: { origin } }) {
  let number = 0;
  for await (const cells of rowsOf(chunks)) {
    number += 1;
    const at = `row ${number}`;
    if (number === 1) {
      decidable(cells.join() === columns, `the columns of events.csv are not those that this verifier knows`);
      continue;
    }
    must(cells.length === columns.split(',').length, `${at} has ${counted(cells.length, 'cell')}`);
    const row = Object.fromEntries(columns.split(',').map((name, index) => [name, cells[index] ?? '']));
    for (const name of ['position', 'version', 'schemaVersion']) {
      must(/^[1-9]\d{0,15}$/.test(row[name] ?? ''), `${at}: its ${name} is ${show(row[name])}`);
    }
    const { correlationId, id, payload, recordedAt, stream, type } = row;
    yield rebuilt(origin, at, {
      actor: { ...(row.actorId === '' ? {} : { id: row.actorId }), type: row.actorType },
      ...{ correlationId, id, log: origin, payload, position: Number(row.position), recordedAt },
      ...{ schemaVersion: Number(row.schemaVersion), stream, type, v: 1, version: Number(row.version) },
    });
  }
  must(number > 0, 'events.csv has no row of names');
}

/**
 * An event whose header was taken apart into cells or attributes. @param {string} origin @param {string} at @param
 * {object} members @returns {Event}
 */
function rebuilt(origin, at, members) {
  const text = canonical(members);
  must(text, `${at} holds no header`);
  const header = readHeader(text, origin, at);
  return { header, text, leaf: leafHash(Buffer.from(text)), payload: null, absent: 'left out' };
}

/** Lines as bytes, without their ends. @param {AsyncIterable<Uint8Array>} chunks */
async function* linesOf(chunks) {
  /** @type {Buffer[]} */
  let parts = [];
  let held = 0;
  for await (const part of chunks) {
    let chunk = Buffer.from(part.buffer, part.byteOffset, part.length);
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      yield parts.length > 0 ? Buffer.concat([...parts, chunk.subarray(0, end)]) : chunk.subarray(0, end);
      [parts, held] = [[], 0];
      chunk = chunk.subarray(end + 1);
    }
    if (chunk.length > 0) parts.push(chunk);
    held += chunk.length;
    decidable(held <= limits.payload * 2, 'a line is too long');
  }
  must(held === 0, 'the last line has no end: the file was cut off');
}

/**
 * Rows of a CSV (RFC 4180) as lists of cells; a byte order mark at the beginning is passed over. @param
 * {AsyncIterable<Uint8Array>} chunks
 */
async function* rowsOf(chunks) {
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n)/y;
  let text = '';
  let isWithin = false;
  for await (const bytes of linesOf(chunks)) {
    const line = `${textOf(bytes, 'events.csv')}\n`;
    text += line;
    // A line that ends within quotes goes on: so far the number of quotation marks is odd.
    if (line.split('"').length % 2 === 0) isWithin = !isWithin;
    if (isWithin) {
      decidable(text.length <= limits.payload * 2, 'a row of events.csv is too long');
      continue;
    }
    if (text.startsWith('\ufeff')) text = text.slice(1);
    const cells = [];
    pattern.lastIndex = 0;
    while (pattern.lastIndex < text.length) {
      const [, quoted, plain] = pattern.exec(text) ?? [];
      must(quoted !== undefined || plain !== undefined, 'events.csv has a row that is not CSV');
      cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    }
    yield cells;
    text = '';
  }
  must(text === '', 'events.csv ends within quotes');
}

// ---------------------------------------------------------------------------------------------------------------------
// 12. A copy of log.db
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The tables that are read, as docs/log-format.md has them: a view or a computed column could show each reader
 * something else.
 */
const logTables = {
  head: 'CREATE TABLE head ( log TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL CHECK (length(root) = 32), recorded_at TEXT NOT NULL, mac BLOB NOT NULL CHECK (length(mac) = 32) ) STRICT',
  events:
    'CREATE TABLE events ( position INTEGER PRIMARY KEY, id TEXT NOT NULL, stream TEXT NOT NULL, version INTEGER NOT NULL CHECK (version >= 1), header TEXT NOT NULL ) STRICT',
  payloads:
    'CREATE TABLE payloads ( position INTEGER PRIMARY KEY REFERENCES events (position), enc INTEGER NOT NULL, body ANY NOT NULL ) STRICT',
  checkpoints:
    'CREATE TABLE checkpoints ( size INTEGER PRIMARY KEY, note TEXT NOT NULL, signed_at TEXT NOT NULL, stored INTEGER NOT NULL DEFAULT 0, posted INTEGER NOT NULL DEFAULT 0 ) STRICT',
};

/** The tables of format 4. */
const segmentTables = {
  segments:
    'CREATE TABLE segments ( first INTEGER PRIMARY KEY, last INTEGER NOT NULL, file TEXT NOT NULL, sha256 BLOB NOT NULL CHECK (length(sha256) = 32), bytes INTEGER NOT NULL, raw INTEGER NOT NULL ) STRICT',
  removals: 'CREATE TABLE removals ( position INTEGER PRIMARY KEY REFERENCES events (position) ) STRICT',
};

/** An id in 16 bytes, as text. @param {string} column */
const idText = (column) => {
  const parts = [
    [1, 4],
    [5, 2],
    [7, 2],
    [9, 2],
    [11, 6],
  ].map(([from, bytes]) => `hex(substr(${column}, ${from}, ${bytes}))`);
  return `lower(${parts.join(" || '-' || ")})`;
};
/** @param {string} column */
const idOrText = (column) => `CASE typeof(${column}) WHEN 'blob' THEN ${idText(column)} ELSE ${column} END`;

/** The events of format 5, and the view that puts their headers together. */
const splitTables = {
  events:
    'CREATE TABLE events ( position INTEGER PRIMARY KEY, id ANY NOT NULL, stream TEXT NOT NULL, version INTEGER NOT NULL CHECK (version >= 1), v INTEGER, type TEXT, schema_version INTEGER, recorded_at INTEGER, actor_type TEXT, actor_id TEXT, correlation ANY, batch BLOB, payload BLOB, whole TEXT ) STRICT',
  headers:
    `CREATE VIEW headers AS SELECT position, ${idOrText('id')} AS id, stream, version, coalesce(whole,` +
    ` '{"actor":{' || coalesce('"id":"' || actor_id || '",', '') || '"type":"' || actor_type ||` +
    ` '"}' || CASE WHEN batch IS NULL THEN '' ELSE ',"batch":"' || ${idText('batch')} || '"' END ||` +
    ` ',"correlationId":"' || ${idOrText('correlation')} || '","id":"' || ${idOrText('id')} ||` +
    ` '","log":"' || (SELECT log FROM head) || '","payload":"sha256:' || lower(hex(payload)) ||` +
    ` '","position":' || position || ',"recordedAt":"' || strftime('%Y-%m-%dT%H:%M:%S.', recorded_at / 1000, 'unixepoch') ||` +
    ` substr(1000 + recorded_at % 1000, 2) || 'Z","schemaVersion":' || schema_version || ',"stream":"' || stream ||` +
    ` '","type":"' || type || '","v":' || v || ',"version":' || version || '}', '') AS header FROM events`,
};

/** A column that formats 1 and 2 do not have: the code under a key of the service, which only that can check. */
const macColumn = ', mac BLOB NOT NULL CHECK (length(mac) = 32)';

/** @typedef {import('node:sqlite').DatabaseSync} Database */

/**
 * Checks a copy of log.db: everything in it, from the first event to the last.
 *
 * @param {string} file
 * @param {Check} check
 */
async function checkLog(file, check) {
  const db = await openLog(file);
  try {
    db.exec('BEGIN');
    checkLogIn({ db, sealed: sealedBodies(path.join(path.dirname(file), 'segments')) }, check);
  } catch (error) {
    if (error instanceof NotSound || error instanceof Undecided) throw error;
    // To read one SQLite makes a file beside it.
    const needs = fs.existsSync(`${file}-wal`) ? '; copy it and its log.db-wal to a folder that can be written' : '';
    throw new Undecided(`log.db cannot be read: ${show(error instanceof Error ? error.message : error)}${needs}`);
  } finally {
    db.close();
  }
}

/** @param {string} file @returns {Promise<Database>} */
async function openLog(file) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  // Before 22.15 no database is opened by its URL, which alone says that it does not change; 22.15 loses statements.
  const isFit = major > 22 || (major === 22 && minor >= 16);
  const sqlite = isFit ? await import('node:sqlite') : null;
  decidable(
    sqlite,
    `the node:sqlite of this Node, ${process.version}, does not do for log.db: take Node 22.16 or newer`,
  );
  // Without a write-ahead log beside it the file is not being written: then nothing is put beside it either, not even
  // to read it.
  const url = new URL(`file://${path.resolve(file).split(path.sep).map(encodeURIComponent).join('/')}`);
  if (!fs.existsSync(`${file}-wal`)) url.search = '?immutable=1';
  const db = new sqlite.DatabaseSync(url, { readOnly: true });
  db.exec('PRAGMA trusted_schema = 0; PRAGMA mmap_size = 0; PRAGMA cell_size_check = 1');
  return db;
}

/** @typedef {{ db: Database, sealed: (file: string, position: number) => Uint8Array | null }} OpenLog */

/** @param {OpenLog} open @param {Check} check */
function checkLogIn(open, check) {
  const { db } = open;
  const { options, report } = check;
  const one = (/** @type {string} */ sql) => Object.values(/** @type {object} */ (db.prepare(sql).get() ?? {}))[0];
  const [application, format] = [one('PRAGMA application_id'), one('PRAGMA user_version')];
  decidable(application === 0x416e6e73, 'this database is no log of Annals');
  decidable(isWhole(format, 1) && format <= 5, `this log has format ${show(format)}, this verifier knows 1 to 5`);
  const tables = Object.entries({
    ...Object.fromEntries(Object.entries(logTables).slice(0, format === 1 ? 3 : 4)),
    ...(format > 3 ? segmentTables : {}),
    ...(format > 4 ? splitTables : {}),
  });
  const select = db.prepare('SELECT type, sql FROM sqlite_schema WHERE name = ?');
  for (const [name, sql] of tables) {
    const found = /** @type {{ type: string, sql: string } | undefined} */ (select.get(name));
    const made = format < 3 ? sql.replace(macColumn, '') : sql;
    const type = name === 'headers' ? 'view' : 'table';
    must(found?.type === type && found.sql.replace(/\s+/g, ' ') === made, `the ${type} ${name} is not that of a log`);
  }

  const heads = db.prepare('SELECT log, size, root, recorded_at AS recordedAt FROM head LIMIT 2').all();
  const [head] = /** @type {{ log: string, size: number, root: Uint8Array, recordedAt: string }[]} */ (heads);
  must(heads.length === 1 && head, 'the log has no head, or more than one');
  report.facts.origin = head.log;
  const { keys, followed } = follow(options.keys, [...storedHandovers(open, format > 3), ...options.handovers]);
  const handed = reportHandovers(followed, head.size, report);
  const notes = format === 1 ? [] : storedNotes(db, { keys, origin: head.log }, report);
  const kept = openKept(options, keys, head.log);

  const tree = growingTree(0, []);
  const journal = openJournal({ after: 0, shows: () => 'whole' });
  const roots = rootsAt([...notes, ...kept, ...handed]);
  roots.look(tree);
  let form = 1;
  for (const event of eventsOf(open, head.log, format)) {
    const { v } = event.header;
    must(format > 2 || v === 1, `${nameOf(event.header)}: its header has version ${v}, in a log of format ${format}`);
    must(v >= form, `${nameOf(event.header)}: its header has version ${v}, the one before it version ${form}`);
    form = v;
    journal.add(event);
    tree.add(event.leaf);
    roots.look(tree);
    options.progress(tree.size());
  }
  const found = journal.settle();
  report.facts.events = found.count;
  noteNewest(found.last, report);
  // The log cannot be older than the checkpoints in it.
  for (const { what, checkpoint } of notes) {
    const { size } = checkpoint;
    must(
      size <= found.count,
      `${what} is of ${counted(size, 'event')}, the log ends at ${found.count}: it was cut off`,
    );
    const isSame = roots.found.get(size)?.equals(checkpoint.root);
    must(
      isSame,
      `this is another log than that of ${what}: over the first ${size === 1 ? 'event' : `${size} events`} the roots differ (rewritten, or a fork)`,
    );
  }
  must(found.count === head.size, `the log ends at event ${found.count}, its head says ${head.size}`);
  must(tree.root().equals(Buffer.from(head.root)), 'the tree over all events does not give the root of the head');
  must(found.lastTime === head.recordedAt, 'the head names another time than the last event');
  if (format < 4) {
    const payloads = one('SELECT count(*) FROM payloads');
    must(
      payloads === found.count - found.erased,
      `there ${payloads === 1 ? 'is' : 'are'} ${counted(payloads, 'payload')} for ${counted(found.count - found.erased, 'event')}`,
    );
  } else {
    const extra = one('SELECT position FROM payloads WHERE position NOT IN (SELECT position FROM events) LIMIT 1');
    must(extra === undefined, `there is a payload of event ${extra}, which there is not`);
  }
  const twice = one('SELECT max(position) FROM events NOT INDEXED GROUP BY id HAVING count(*) > 1 LIMIT 1');
  must(twice === undefined, `event ${twice} has the id of another one`);

  report.proven.push(
    `${counted(found.count, 'event')} from the first to the last, and the tree over ${found.count === 1 ? 'it' : 'them'} is that of the head`,
  );
  reportPayloads(found, report);
  reportTimes(found, report);
  const shown = { checkpoint: { size: found.count, root: tree.root() }, roots: roots.found };
  const sure = checkKept({ kept, stamped: [], handed }, shown, check);
  const all = [...notes, ...kept.filter((each) => sure.has(each))];
  const signer = followed.length === 0 ? 'the pinned key' : 'the pinned key, and those to which hand-overs lead';
  reportSigned(all, { count: found.count, root: tree.root(), signer }, check);
  reportOutside(all, found.count, check);
  if (options.files !== null) checkStored(options.files, found, report);
  else if (found.files.size > 0)
    report.open.push(`the bytes of ${counted(found.files.size, 'uploaded file')}: --files DIR compares them`);
}

/**
 * The hand-overs that events about keys hold: what they are worth, their signatures say. @param {OpenLog} open @param
 * {boolean} hasSegments @returns {Handover[]}
 */
function storedHandovers({ db, sealed }, hasSegments) {
  const rows = db
    .prepare(
      `SELECT e.position, ${hasSegments ? segmentColumn : 'NULL'} AS file,
         CASE WHEN enc = 0 AND octet_length(body) <= ${limits.note} THEN CAST(body AS BLOB) END AS body
       FROM events e LEFT JOIN payloads p ON p.position = e.position WHERE stream = ? ORDER BY e.position LIMIT 1000`,
    )
    .all(keyStream);
  return /** @type {{ position: number, file: string | null, body: Uint8Array | null }[]} */ (rows).flatMap((row) => {
    const body = row.file === null ? row.body : sealed(row.file, row.position);
    if (body === null || body.length > limits.note) return [];
    const { handover } = dataIn(body);
    return handover === undefined ? [] : [readHandover(handover)];
  });
}

/**
 * Reads payloads from segments, as docs/log-format.md has them: each costs one frame, and the last one is kept.
 *
 * @param {string} folder
 * @returns {OpenLog['sealed']}
 */
function sealedBodies(folder) {
  /**
   * @type {{ name: string, bytes: Buffer, frames: { first: number, count: number, offset: number, length: number, raw:
   * number }[] } | null}
   */
  let segment = null;
  /** @type {{ name: string, first: number, raw: Buffer } | null} */
  let open = null;
  return (file, position) => {
    must(/^[\d]{10,16}-[\d]{10,16}-[\da-f]{16}\.seg$/.test(file), `a segment has the name ${show(file)}`);
    if (segment?.name !== file) {
      const place = path.join(folder, file);
      decidable(fs.existsSync(place), `the segment ${file} is not there: copy the folder segments beside log.db`);
      const bytes = fs.readFileSync(place);
      segment = { name: file, bytes, frames: framesOf(file, bytes) };
    }
    const frame = segment.frames.find(({ first, count }) => position >= first && position < first + count);
    if (!frame) return null;
    if (open?.name !== file || open.first !== frame.first) {
      const compressed = segment.bytes.subarray(frame.offset, frame.offset + frame.length);
      open = { name: file, first: frame.first, raw: decompressed(file, compressed, frame) };
    }
    let start = 4 * frame.count;
    for (let at = frame.first; at < position; at += 1) start += open.raw.readUInt32LE(4 * (at - frame.first));
    const length = open.raw.readUInt32LE(4 * (position - frame.first));
    return length === 0 ? null : open.raw.subarray(start, start + length);
  };
}

/** The frames of a segment, by its index. @param {string} file @param {Buffer} bytes */
function framesOf(file, bytes) {
  const wrong = `the segment ${file} was altered: it is not whole`;
  must(bytes.length >= 28 && bytes.toString('latin1', 0, 8) === 'AnnsSeg\x01', wrong);
  const [first, last, count] = [
    Number(bytes.readBigUInt64LE(8)),
    Number(bytes.readBigUInt64LE(16)),
    bytes.readUInt32LE(24),
  ];
  must(bytes.length >= 28 + 12 * count, wrong);
  const frames = [];
  let [position, offset] = [first, 28 + 12 * count];
  for (let at = 28; at < 28 + 12 * count; at += 12) {
    const [payloads, length, raw] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)];
    frames.push({ first: position, count: payloads, offset, length, raw });
    position += payloads;
    offset += length;
  }
  must(position === last + 1 && offset === bytes.length, wrong);
  return frames;
}

/** @param {string} file @param {Buffer} compressed @param {{ first: number, count: number, raw: number }} frame */
function decompressed(file, compressed, { first, count, raw: size }) {
  const wrong = `the segment ${file} was altered: the frame of event ${first} is not whole`;
  decidable('zstdDecompressSync' in zlib, `this Node, ${process.version}, has no zstd: take Node 22.16 or newer`);
  /** @type {Buffer | null} */
  let raw = null;
  try {
    raw = zlib.zstdDecompressSync(compressed, { maxOutputLength: Math.max(size, 1) });
  } catch {}
  must(raw?.length === size && size >= 4 * count, wrong);
  let end = 4 * count;
  for (let at = 0; at < count; at += 1) end += raw.readUInt32LE(4 * at);
  must(end === size, wrong);
  return raw;
}

/** The data of a payload that is checked later. @param {Uint8Array} body @returns {Record<string, any>} */
function dataIn(body) {
  try {
    const { data } = JSON.parse(Buffer.from(body).toString());
    return isObject(data) ? data : {};
  } catch {
    return {};
  }
}

/**
 * The checkpoints that the log itself keeps, without those that no given key has signed: they are not proven.
 *
 * @param {Database} db
 * @param {{ keys: VerifierKey[], origin: string }} log
 * @param {Report} report
 * @returns {Kept[]}
 */
function storedNotes(db, { keys, origin }, report) {
  const tokens = storedTokens(db);
  const rows = db.prepare('SELECT size, note FROM checkpoints ORDER BY size').all();
  return /** @type {any[]} */ (rows).flatMap(({ size, note }) => {
    const what = `the checkpoint of ${counted(size, 'event')} in the log`;
    const read = openCheckpoint(note, [], what);
    must(read.origin === origin, `${what} is of another log, ${show(read.origin)}`);
    must(read.size === size, `${what} is of ${counted(read.size, 'event')}`);
    if (keys.length > 0 && !namesOne(read, keys)) {
      report.unproven.push(`${what} is signed by another key: each that you know to be one of the log is a --key`);
      return [];
    }
    return [{ what, checkpoint: openCheckpoint(note, keys, what), tokens: tokens.get(size) ?? [] }];
  });
}

/** The time-stamp tokens that the log keeps, by the size of the checkpoint that they are over. @param {Database} db */
function storedTokens(db) {
  /** @type {Map<number, Token[]>} */
  const found = new Map();
  const isThere = db.prepare("SELECT type FROM sqlite_schema WHERE name = 'timestamps'").get()?.type === 'table';
  const rows = isThere ? db.prepare('SELECT size, authority, token FROM timestamps').iterate() : [];
  for (const { size, authority, token } of /** @type {Iterable<any>} */ (rows))
    found.set(size, [...(found.get(size) ?? []), { authority, token: Buffer.from(token) }]);
  return found;
}

/**
 * The segment with the payload of an event `e` that is not in the table `p`; null without one, or if the payload was
 * erased.
 */
const segmentColumn = `CASE WHEN enc IS NULL AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.position = e.position) THEN
  (SELECT file FROM segments WHERE first <= e.position ORDER BY first DESC LIMIT 1) END`;

/** @param {OpenLog} open @param {string} origin @param {number} format @returns {Generator<Event>} */
function* eventsOf({ db, sealed }, origin, format) {
  const rows = db
    .prepare(
      `SELECT e.position, id, stream, version, enc, octet_length(body) AS length,
         CASE WHEN octet_length(header) <= ${limits.header} THEN CAST(header AS BLOB) END AS header,
         CASE WHEN octet_length(body) <= ${limits.payload} THEN CAST(body AS BLOB) END AS body,
         ${format > 3 ? segmentColumn : 'NULL'} AS file
       FROM ${format > 4 ? 'headers' : 'events'} e NOT INDEXED LEFT JOIN payloads p ON p.position = e.position ORDER BY e.position`,
    )
    .iterate();
  let position = 0;
  for (const row of /** @type {Iterable<any>} */ (rows)) {
    position += 1;
    const at = `event ${position}`;
    must(row.position === position, `${at} is missing: the next one is at position ${row.position}`);
    must(row.header, `${at}: its header is too long`);
    const text = textOf(row.header, `${at}: its header`);
    const header = readHeader(text, origin, at);
    for (const name of /** @type {const} */ (['position', 'id', 'stream', 'version'])) {
      must(
        header[name] === row[name],
        `${at}: its row says ${name} ${show(row[name])}, its header ${show(header[name])}`,
      );
    }
    const leaf = leafHash(row.header);
    const body = row.file === null ? null : sealed(row.file, position);
    if (body !== null) {
      decidable(body.length <= limits.payload, `${nameOf(header)}: its payload has more than ${limits.payload} bytes`);
      yield { header, text, leaf, payload: readPayload(body, header), absent: null };
      continue;
    }
    if (row.enc === null) {
      yield { header, text, leaf, payload: null, absent: 'erased' };
      continue;
    }
    decidable(
      row.enc === 0,
      `${nameOf(header)}: its payload is encoded in a way that this verifier does not know (${show(row.enc)})`,
    );
    decidable(row.body, `${nameOf(header)}: its payload has more than ${limits.payload} bytes`);
    yield { header, text, leaf, payload: readPayload(row.body, header), absent: null };
  }
}

/**
 * @param {Kept[]} all
 * @param {{ count: number, root: Buffer, signer: string }} log its events, and their root; by whom they are signed
 * @param {Check} check
 */
function reportSigned(all, { count, root, signer }, { options, report }) {
  const newest = Math.max(0, ...all.map(({ checkpoint }) => checkpoint.size));
  report.facts.checkpoint = { size: newest };
  report.facts.head = { size: count, root: root.toString('base64') };
  if (options.isPinned && all.length === 0)
    report.unproven.push(
      'no checkpoint of this key is in the log, and none was given that it leads to: nothing of it is signed',
    );
  else if (options.isPinned) {
    report.proven.push(
      `${counted(all.length, 'checkpoint')} signed by ${signer}, the newest of ${counted(newest, 'event')}, ${all.length === 1 ? 'is' : 'are all'} of this log`,
    );
  }
  if (newest < count)
    report.open.push(`the origin of the events ${newest + 1} to ${count}: they are in no signed checkpoint yet`);
}

/**
 * @param {string} folder @param {{ files: Map<string, Header>, fates: Map<string, Fate> }} found @param {Report} report
 */
function checkStored(folder, { files, fates }, report) {
  let lost = 0;
  for (const [sha256, header] of files) {
    const hash = crypto.createHash('sha256');
    const place = [path.join(folder, sha256.slice(0, 2), sha256), path.join(folder, sha256)].find((each) =>
      fs.existsSync(each),
    );
    if (!place && fates.get(`${header.stream} ${header.version}`)?.header.type === 'file.lost') {
      report.open.push(`what is in the file ${sha256}, which ${nameOf(header)} names: ${fateOf(fates, header)}`);
      lost += 1;
      continue;
    }
    if (!place) {
      report.unproven.push(`${nameOf(header)} names the file ${sha256}, and it is not in the folder`);
      lost += 1;
      continue;
    }
    for (const chunk of readFile(place)) hash.update(chunk);
    must(
      hash.digest('hex') === sha256,
      `the file ${sha256} of ${nameOf(header)} was altered: its SHA-256 is another one`,
    );
  }
  report.proven.push(wholeFiles(files.size - lost));
}

// ---------------------------------------------------------------------------------------------------------------------
// 13. Two checkpoints
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Compares two signed checkpoints of one log, by an answer of `GET /api/audit/consistency` where their sizes differ. A
 * thing that is not signed decides nothing against a log, for anybody can have written it: not a checkpoint by another
 * key, and no such answer, which is never signed. It decides for one all the same where it leads from one root to the
 * other: that cannot be made up.
 *
 * @param {Kept[]} pair
 * @param {{ answer: Answer | undefined, followed: Handover[], asWhat: string }} by `asWhat`: how an answer is given
 * @param {Report} report
 */
function checkPair(pair, { answer, followed, asWhat }, report) {
  const [first, second] = pair.toSorted((a, b) => a.checkpoint.size - b.checkpoint.size);
  if (!first || !second) return;
  const [a, b] = [first.checkpoint, second.checkpoint];
  const [from, to] = [a.size, b.size];
  decidable(a.origin === b.origin, `they are of two logs, ${show(a.origin)} and ${show(b.origin)}`);
  const fork = `${first.what} and ${second.what} are both of ${counted(to, 'event')}, both are signed by the key, and their roots differ`;
  must(from !== to || a.root.equals(b.root), `${fork}: proof of a fork: keep both files`);
  for (const { what, checkpoint: handed } of followed)
    for (const shown of [first, second]) {
      const isSame = shown.checkpoint.size !== handed.size || shown.checkpoint.root.equals(handed.root);
      must(
        isSame,
        `${shown.what} and ${what} are both of ${counted(handed.size, 'event')}, and their roots differ: proof of a fork`,
      );
    }
  if (answer !== undefined) checkAnswer(answer, first, second);
  else {
    const sizes = `${first.what} is of ${counted(from, 'event')}, ${second.what} of ${to}`;
    const call = `save the answer of ${callFor(from, to)}, and name it as ${asWhat}`;
    decidable(from === to, `${sizes}: only a proof says whether one continues the other: ${call}`);
  }
  report.proven.push(
    from === to
      ? `${first.what} and ${second.what} are of the same ${counted(to, 'event')}`
      : `${second.what}, of ${counted(to, 'event')}, continues ${first.what}, of ${from}: nothing of those was changed or taken away`,
  );
}

/**
 * The part of a report about several checkpoints of one log. @param {Kept[]} all @param {Handover[]} followed @param
 * {Check} check
 */
function reportCompared(all, followed, check) {
  const { options, report } = check;
  report.facts.origin = all[0]?.checkpoint.origin;
  report.facts.events = Math.max(...all.map(({ checkpoint }) => checkpoint.size));
  report.facts.checkpoints = all.map(({ what, checkpoint: { size, root } }) => {
    return { file: what, size, root: root.toString('base64') };
  });
  const those = all.length > 2 ? 'all' : 'both';
  report.proven.push(
    `${those} checkpoints are signed by ${options.keys.length > 1 ? 'the pinned keys' : 'the pinned key'}${followed.length > 0 ? ', or those to which hand-overs lead' : ''}`,
  );
  for (const { from: old, to: next, checkpoint } of followed)
    report.proven.push(
      `the key ${old.id} handed over to ${next.id} at ${counted(checkpoint.size, 'event')}: both have signed it`,
    );
}

/**
 * Compares the files of two checkpoints. @param {string[]} files two checkpoints, and the answer @param {Check} check
 */
function checkFilesOfPair([one = '', other = '', answer], check) {
  const { options, report } = check;
  const { keys, followed } = follow(options.keys, options.handovers);
  const pair = [one, other]
    .map((file) => ({ what: show(path.basename(file)), checkpoint: openSigned(file, keys) }))
    .sort((a, b) => a.checkpoint.size - b.checkpoint.size);
  reportCompared(pair, followed, check);
  checkPair(pair, { answer: answer === undefined ? answer : readAnswer(answer), followed, asWhat: 'PROOF' }, report);
  reportOutside(pair, 0, check);
}

/** Compares a checkpoint, shown as evidence, with each kept one. @param {string} file @param {Check} check */
function checkNote(file, check) {
  const { options, report } = check;
  const what = show(path.basename(file));
  decidable(options.isPinned, `${what} is a checkpoint, which names no key: give that of the log with --key`);
  decidable(
    options.kept.length > 0,
    `${what} is a checkpoint: give the one that you kept with --checkpoint, or see compare`,
  );
  const { keys, followed } = follow(options.keys, options.handovers);
  const shown = { what, checkpoint: openSigned(file, keys) };
  const kept = openKept(options, keys, shown.checkpoint.origin);
  reportCompared([...kept, shown], followed, check);
  const sure = [shown];
  for (const one of kept) {
    const [from, to] = [one, shown].map(({ checkpoint }) => checkpoint.size).sort((a, b) => a - b);
    const answer = options.proofs.find((each) => each.from === from && each.to === to);
    try {
      checkPair([one, shown], { answer, followed, asWhat: '--proof' }, report);
      sure.push(one);
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      report.unproven.push(error.message);
    }
  }
  reportOutside(sure, 0, check);
}

/** @param {string} file @param {VerifierKey[]} keys */
function openSigned(file, keys) {
  const what = show(path.basename(file));
  decidable(fs.existsSync(file), `there is no ${show(file)}`);
  return openGiven(givenText(file, what), keys, what);
}

/** The text of a small file that was given along with the evidence. @param {string} file @param {string} what */
function givenText(file, what) {
  const bytes = readSmall(file, limits.note);
  decidable(isUtf8(bytes), `${what} is not UTF-8`);
  return bytes.toString();
}

/** Reads an answer of `GET /api/audit/consistency`. @param {string} file @returns {Answer} */
function readAnswer(file) {
  const what = show(path.basename(file));
  decidable(fs.existsSync(file), `there is no ${show(file)}`);
  try {
    const answer = JSON.parse(givenText(file, what));
    const { from, to, fromRoot, toRoot } = answer;
    for (const root of [fromRoot, toRoot]) hashFrom(root, 'a root');
    must(isWhole(from, 0) && isWhole(to, 0), 'its sizes are no numbers');
    return { what, from, to, fromRoot, toRoot, proof: hashesFrom(answer.proof, 'proof', 128) };
  } catch {
    throw new Undecided(`${what} is no answer of GET /api/audit/consistency`);
  }
}

/** @param {Answer} answer @param {Kept} first @param {Kept} second */
function checkAnswer(answer, first, second) {
  const { what } = answer;
  const [from, to] = [first.checkpoint.size, second.checkpoint.size];
  const isOfThese = answer.from === from && answer.to === to;
  const told = `${show(answer.from)} to ${show(answer.to)}`;
  decidable(isOfThese, `${what} is a proof from ${told}: ask ${callFor(from, to)}`);
  decidable(
    leads(answer, first.checkpoint, second.checkpoint),
    `${what} does not lead from ${first.what} to ${second.what}, both rightly signed. It is not signed itself, so ask again: ` +
      'a log that was never rewritten has a proof that does. Keep all three files',
  );
}

// ---------------------------------------------------------------------------------------------------------------------
// 14. Files, folders and ZIP archives: only read, never unpacked
// ---------------------------------------------------------------------------------------------------------------------

/**
 * @param {string} file @param {number} [from] @param {number} [to] the byte behind the last @returns
 * {Generator<Buffer>}
 */
function* readFile(file, from = 0, to = Number.POSITIVE_INFINITY) {
  const handle = fs.openSync(file, 'r');
  try {
    decidable(fs.fstatSync(handle).isFile(), `${show(file)} is no file`);
    for (let at = from; at < to; ) {
      const buffer = Buffer.alloc(Math.min(256 * 1024, to - at));
      const length = fs.readSync(handle, buffer, 0, buffer.length, at);
      if (length === 0) return;
      at += length;
      yield buffer.subarray(0, length);
    }
  } finally {
    fs.closeSync(handle);
  }
}

/** @param {string} file @param {number} from @param {number} length */
function readPart(file, from, length) {
  const bytes = Buffer.concat([...readFile(file, from, from + length)]);
  decidable(bytes.length === length, 'the archive is cut off');
  return bytes;
}

/** @param {string} file @param {number} most */
function readSmall(file, most) {
  decidable(fs.statSync(file).size <= most, `${show(file)} has more than ${most} bytes`);
  return Buffer.concat([...readFile(file)]);
}

/** @param {string} folder @returns {Source} */
function openFolder(folder) {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: false })) {
    if (entry.isFile()) sizes.set(entry.name, fs.statSync(path.join(folder, entry.name)).size);
    else {
      decidable(entry.isDirectory() && entry.name === 'files', `${show(entry.name)} does not belong in the folder`);
      for (const file of fs.readdirSync(path.join(folder, 'files'), { withFileTypes: true })) {
        decidable(file.isFile(), `${show(`files/${file.name}`)} is no file`);
        sizes.set(`files/${file.name}`, fs.statSync(path.join(folder, 'files', file.name)).size);
      }
    }
  }
  return {
    names: [...sizes.keys()],
    size: (name) => sizes.get(name) ?? 0,
    chunks: async function* (name) {
      yield* readFile(path.join(folder, name));
    },
  };
}

/**
 * @typedef {{ method: number, crc: number, packed: number, size: number, start: number, end: number, name: string }}
 * Entry
 */

/**
 * Opens a ZIP archive, and refuses all in which two readers may see two different things: entries of one name, bytes
 * between them, local headers that say something else than the directory, a comment.
 *
 * @param {string} file
 * @returns {Source}
 */
function openZip(file) {
  const length = fs.statSync(file).size;
  decidable(length >= 22, 'the archive is cut off');
  const end = readPart(file, length - 22, 22);
  decidable(
    end.readUInt32LE(0) === 0x06054b50 && end.readUInt16LE(20) === 0,
    'the archive does not end as one without a comment',
  );
  let [count, size, start] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)];
  decidable(end.readUInt32LE(4) === 0 && end.readUInt16LE(8) === count, 'the archive has several parts');
  let tail = length - 22;
  if (count === 0xffff || size === 0xffffffff || start === 0xffffffff) {
    const [record, locator] = [readPart(file, length - 98, 56), readPart(file, length - 42, 20)];
    const isZip64 = record.readUInt32LE(0) === 0x06064b50 && locator.readUInt32LE(0) === 0x07064b50;
    decidable(isZip64 && locator.readBigUInt64LE(8) === BigInt(length - 98), 'the archive does not end as it should');
    decidable(locator.readUInt32LE(4) === 0 && locator.readUInt32LE(16) === 1, 'the archive has several parts');
    decidable(
      record.readBigUInt64LE(4) === 44n && record.readBigUInt64LE(16) === 0n,
      'the archive does not end as it should',
    );
    decidable(record.readBigUInt64LE(24) === record.readBigUInt64LE(32), 'the archive has several parts');
    [count = 0, size = 0, start = 0] = [32, 40, 48].map((at) => Number(record.readBigUInt64LE(at)));
    tail = length - 98;
  }
  decidable(
    count <= limits.entries && size <= 64 * MiB && start + size === tail,
    'the directory of the archive is not in its place',
  );

  const directory = readPart(file, start, size);
  /** @type {Map<string, Entry>} */
  const entries = new Map();
  let at = 0;
  let offset = 0;
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    const { entry, next } = readEntry(file, directory, { at, offset });
    must(!entries.has(entry.name), `the archive has two entries ${show(entry.name)}`);
    entries.set(entry.name, entry);
    [at, offset, total] = [next, entry.end, total + entry.size];
    decidable(offset <= start && total <= limits.total, 'the archive is damaged, or what it holds is too large');
  }
  decidable(at === size && offset === start, 'the archive holds bytes that belong to no entry');
  /** @param {string} name */
  const entryOf = (name) => /** @type {Entry} */ (entries.get(name));
  return {
    names: [...entries.keys()],
    size: (name) => entryOf(name).size,
    chunks: (name) => unpacked(file, entryOf(name)),
  };
}

/**
 * One entry of the directory, and the local header, data and data descriptor that belong to it, which must begin at
 * `offset`.
 *
 * @param {string} file
 * @param {Buffer} directory
 * @param {{ at: number, offset: number }} place in the directory, and in the file
 */
function readEntry(file, directory, { at, offset }) {
  decidable(
    at + 46 <= directory.length && directory.readUInt32LE(at) === 0x02014b50,
    'the directory of the archive is damaged',
  );
  const [flags, method, crc] = [
    directory.readUInt16LE(at + 8),
    directory.readUInt16LE(at + 10),
    directory.readUInt32LE(at + 16),
  ];
  const [nameLength, extraLength] = [directory.readUInt16LE(at + 28), directory.readUInt16LE(at + 30)];
  decidable(
    directory.readUInt16LE(at + 32) === 0 && directory.readUInt16LE(at + 34) === 0,
    'an entry of the archive has a comment',
  );
  const next = at + 46 + nameLength + extraLength;
  decidable(next <= directory.length, 'the directory of the archive is damaged');
  const name = directory.subarray(at + 46, at + 46 + nameLength).toString('latin1');
  decidable(
    /^(files\/[0-9a-f]{64}|[\w-]+(\.[\w-]+)*)$/.test(name),
    `the archive has an entry ${show(name)}, which does not belong there`,
  );
  // Bit 3: sizes follow the data; bit 11: the name is UTF-8, of which ASCII is a part.
  decidable(
    (flags & ~0x0808) === 0 && (method === 0 || method === 8),
    `${name} is packed in a way that this verifier does not know`,
  );
  const large = zip64Of(directory.subarray(at + 46 + nameLength, next));
  const isWide = large.length > 0;
  const [size = 0, packed = 0, start = 0] = [24, 20, 42].map((field) => {
    const value = directory.readUInt32LE(at + field);
    return value === 0xffffffff ? (large.shift() ?? value) : value;
  });
  decidable(
    start === offset && isWhole(size, 0) && isWhole(packed, 0),
    'the archive holds bytes that belong to no entry',
  );

  const local = readPart(file, offset, 30);
  decidable(local.readUInt32LE(0) === 0x04034b50, 'an entry of the archive is damaged');
  const lengths = [local.readUInt16LE(26), local.readUInt16LE(28)];
  const localName = readPart(file, offset + 30, nameLength).toString('latin1');
  const isSame = local.readUInt16LE(6) === flags && local.readUInt16LE(8) === method && lengths[0] === nameLength;
  must(isSame && localName === name, `the archive names ${show(name)} in two ways`);
  const begin = offset + 30 + nameLength + (lengths[1] ?? 0);
  let end = begin + packed;
  // Values behind the data are not repeated before it.
  const before = flags & 8 ? [0, 0, 0] : [crc, Math.min(packed, 0xffffffff), Math.min(size, 0xffffffff)];
  const isTold = before.every((value, index) => local.readUInt32LE(14 + 4 * index) === value);
  must(isTold, `the archive gives ${show(name)} two sizes`);
  if (flags & 8) {
    const descriptor = readPart(file, end, isWide ? 24 : 16);
    const sizes = isWide
      ? [Number(descriptor.readBigUInt64LE(8)), Number(descriptor.readBigUInt64LE(16))]
      : [descriptor.readUInt32LE(8), descriptor.readUInt32LE(12)];
    const fits = descriptor.readUInt32LE(0) === 0x08074b50 && descriptor.readUInt32LE(4) === crc;
    must(fits && sizes[0] === packed && sizes[1] === size, `the archive gives ${show(name)} two sizes`);
    end += descriptor.length;
  }
  return { entry: { name, method, crc, packed, size, start: begin, end }, next };
}

/** The large numbers of a zip64 extra field, in their order. @param {Buffer} extra */
function zip64Of(extra) {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    const field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
    return Array.from({ length: Math.floor(field.length / 8) }, (_, index) => Number(field.readBigUInt64LE(index * 8)));
  }
  return [];
}

/**
 * The bytes of an entry; never more than the directory says, whatever is packed. @param {string} file @param {Entry}
 * entry
 */
async function* unpacked(file, { name, method, crc, packed, size, start }) {
  let length = 0;
  let sum = 0;
  const inflate = method === 8 ? zlib.createInflateRaw() : null;
  const input = Readable.from(readFile(file, start, start + packed), { objectMode: true });
  const output = inflate ? input.on('error', (error) => inflate.destroy(error)).pipe(inflate) : input;
  try {
    for await (const chunk of output) {
      length += chunk.length;
      must(length <= size, `${name} is larger than the archive says`);
      sum = zlib.crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof NotSound || error instanceof Undecided) throw error;
    throw new Undecided(`${name} cannot be unpacked`);
  } finally {
    input.destroy();
    inflate?.destroy();
  }
  const isAll = length === size && sum === crc && (!inflate || inflate.bytesWritten === packed);
  decidable(isAll, `${name} in the archive is damaged`);
}

// ---------------------------------------------------------------------------------------------------------------------
// 15. The command
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Runs a command line, and prints nothing itself.
 *
 * @param {string[]} args
 * @returns {Promise<{ exit: number, text: string }>}
 */
export async function run(args) {
  /** @type {Report} */
  const report = {
    proven: [],
    open: [],
    but: [],
    lies: [],
    unproven: [],
    facts: {},
    files: new Map(),
    followed: new Set(),
  };
  const started = performance.now();
  let isJson = false;
  const { exit, finding, text } = await outcomeOf(async () => {
    decidable(
      typeof crypto.hash === 'function' && typeof zlib.crc32 === 'function',
      `this is Node ${process.version}: take Node 22.2 or newer`,
    );
    const values = readArguments(args);
    isJson = values.json === true;
    if (values.help) return usage;
    if (values.version) return `annals-verify ${version} (Node ${process.version})\n`;
    const [first = '', ...more] = values.paths;
    if (first === 'compare') checkCompared(more, values, report);
    else await checkPath(first, { options: optionsFrom(values), report });
    return null;
  });
  if (text !== null) return { exit, text };
  const seconds = (performance.now() - started) / 1000;
  return { exit, text: (isJson ? jsonOf : textOfReport)(report, { exit, finding, seconds }) };
}

/**
 * @param {() => Promise<string | null>} check @returns {Promise<{ exit: number, finding: string | null, text: string |
 * null }>}
 */
async function outcomeOf(check) {
  try {
    return { exit: 0, finding: null, text: await check() };
  } catch (error) {
    if (error instanceof NotSound) return { exit: 1, finding: error.message, text: null };
    if (error instanceof Undecided) return { exit: 2, finding: error.message, text: null };
    // An unforeseen error proves nothing, and is never taken for sound.
    return {
      exit: 2,
      finding: `it cannot be read: ${show(error instanceof Error ? error.message : error)}`,
      text: null,
    };
  }
}

/** @typedef {{ exit: number, finding: string | null, seconds: number }} Verdict */

/** @param {Report} report @param {Verdict} verdict */
function jsonOf({ proven, open, but, facts }, { exit, finding, seconds }) {
  const result = ['sound', 'not sound', 'undecided'][exit];
  // Proofs from before something turned out to be wrong are not worth telling.
  const told = exit === 1 ? { proven: [], open: [], but: [] } : { proven, open, but };
  return `${JSON.stringify({ result, exit, finding, ...facts, ...told, seconds }, null, 2)}\n`;
}

/** @param {Report} report @param {Verdict} verdict */
function textOfReport({ proven, open, but, facts }, { exit, finding, seconds }) {
  const lines = [];
  if (facts.kind) lines.push(`${facts.kind} of ${show(facts.stream ?? facts.origin ?? 'an unknown log')}`);
  if (facts.origin && facts.stream) lines.push(`log         ${show(facts.origin)}`);
  if (facts.verifierKey) lines.push(`key inside  ${show(facts.verifierKey)}`);
  if (facts.written) lines.push(`written     ${show(facts.written)}, which is what the events make`);
  if (facts.at && exit !== 1) lines.push(...linesOfState(facts.at));
  if (exit !== 1) {
    for (const line of proven) lines.push(`  proven    ${line}`);
    for (const line of open) lines.push(`  open      ${line}`);
    if (facts.newest) lines.push(`newest proven event: ${facts.newest.recordedAt}, ${agoOf(facts.newest.recordedAt)}`);
    if (facts.newest || facts.outside) lines.push(`newest time vouched for from outside: ${outsideOf(facts.outside)}`);
  }
  const speed = facts.events && seconds > 1 ? `, ${Math.round(facts.events / seconds)} events/s` : '';
  const verdicts = ['SOUND', 'NOT SOUND', 'UNDECIDED'];
  lines.push(
    finding === null
      ? `SOUND (${counted(facts.events ?? 0, 'event')}, ${seconds.toFixed(1)} s${speed})${but.map((each) => `, but ${each}`).join('')}`
      : `${verdicts[exit]}: ${finding}`,
  );
  return `${lines.join('\n')}\n`;
}

/** @param {ReturnType<typeof publicAt>} state */
function linesOfState(state) {
  const at = `public at   ${state.time}: `;
  if (!('version' in state)) return [`${at}nothing`];
  const { version: number, since, by, document } = state;
  const what = `version ${number}, since ${since}, by ${show(actorText(by))}`;
  if (document === null) return [`${at}${what}; the content was erased since`];
  const json = JSON.stringify(document, null, 2).replace(/[^\x20-\x7e\n]/g, escaped);
  return [`${at}${what}`, ...json.split('\n').map((line) => `  ${line}`)];
}

/** @param {{ time: string, by: string, size: number } | undefined} outside */
function outsideOf(outside) {
  if (!outside) return 'none';
  const { time, by, size } = outside;
  return `${time}, ${agoOf(time)}, by ${show(by)}, of ${counted(size, 'event')}`;
}

/** How long before now a time is, as people say it. @param {string} time */
function agoOf(time) {
  const seconds = Math.round((Date.now() - Date.parse(time)) / 1000);
  const [name, length] = agoUnits.find((unit) => Math.abs(seconds) >= unit[1]) ?? ['second', 1];
  const count = Math.floor(Math.abs(seconds) / length);
  const words = counted(count, name);
  return seconds < 0 ? `${words} after now by the clock here: one of the two is wrong` : `${words} before now`;
}

/** @type {[string, number][]} */
const agoUnits = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** @param {string[]} args */
function readArguments(args) {
  const several = { type: /** @type {const} */ ('string'), multiple: /** @type {const} */ (true) };
  const flag = { type: /** @type {const} */ ('boolean') };
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ key: several, 'key-file': several, checkpoint: several, checkpoints: several, files: { type: 'string' } },
      ...{ summary: { type: 'string' }, csv: { type: 'string' }, witness: several, tokens: { type: 'string' } },
      ...{ handovers: several, proof: several, at: { type: 'string' } },
      ...{ 'trust-inside': flag, json: flag, help: flag, version: flag },
    },
  });
  const isPair = positionals[0] === 'compare';
  const fits = isPair ? [3, 4].includes(positionals.length) : positionals.length === 1;
  const wanted = isPair ? 'name two checkpoints, and PROOF where their sizes differ' : 'name one PATH';
  if (!values.help && !values.version) decidable(fits, `${wanted}\n\n${usage}`);
  return { ...values, paths: positionals };
}

/** @param {ReturnType<typeof readArguments>} values @returns {Options} */
function optionsFrom(values) {
  const texts = [
    ...(values.key ?? []),
    ...(values['key-file'] ?? []).map((file) => givenText(file, show(file)).trim()),
  ];
  const keys = texts.map((text) => {
    const key = parseKey(text);
    decidable(key, `${show(text)} is no verifier key: name+hash+key`);
    return key;
  });
  const witnesses = (values.witness ?? []).map((text) => {
    const key = parseKey(text, keyTypes.witness);
    decidable(key, `${show(text)} is no verifier key of a witness: name+hash+key, of the type 04`);
    return key;
  });
  const isPinned = keys.length > 0;
  decidable(!isPinned || !values['trust-inside'], '--trust-inside and a key exclude each other');
  const folders = (values.checkpoints ?? []).flatMap((folder) => {
    const files = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
    decidable(files.length > 0, `there are no checkpoints in ${show(folder)}`);
    return files.map(({ name }) => path.join(folder, name));
  });
  const kept = [...(values.checkpoint ?? []), ...folders].map((file) => {
    const what = `the kept checkpoint ${show(path.basename(file))}`;
    return { what, text: givenText(file, what) };
  });
  let shown = 0;
  const progress = (/** @type {number} */ count) => {
    if (count - shown < 100_000 || !process.stderr.isTTY) return;
    shown = count;
    process.stderr.write(`${count} events\r`);
  };
  const isTrusting = values['trust-inside'] === true;
  const [page, table] = [values.summary, values.csv].map((file) => (file === undefined ? null : outFile(file)));
  return {
    ...{ keys, handovers: (values.handovers ?? []).flatMap(handoversIn), witnesses, isPinned, isTrusting, kept },
    proofs: (values.proof ?? []).map(readAnswer),
    files: values.files ?? null,
    ...{ page: page ?? null, table: table ?? null, tokens: values.tokens ?? null, at: timeFrom(values.at), progress },
  };
}

/** A time of the command line, as events have it. @param {string | undefined} text */
function timeFrom(text) {
  if (text === undefined) return null;
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
  const milliseconds = form.test(text) ? Date.parse(text) : Number.NaN;
  decidable(!Number.isNaN(milliseconds), `--at ${show(text)} is no time with its zone, such as 2026-11-20T12:00:00Z`);
  return new Date(milliseconds).toISOString();
}

/**
 * The hand-overs in a file: the answer of GET /api/audit/signing-keys, or a note.
 * @param {string} file @returns {Handover[]}
 */
function handoversIn(file) {
  const what = show(path.basename(file));
  decidable(fs.existsSync(file), `there is no ${show(file)}`);
  const text = textOf(readSmall(file, MiB), what);
  try {
    if (!text.startsWith('{')) return [readHandover(text)];
    const { keys } = JSON.parse(text);
    must(Array.isArray(keys), `it has no keys`);
    return keys.flatMap(({ replaced }) => (replaced?.handover ? [readHandover(replaced.handover)] : []));
  } catch (error) {
    const why =
      error instanceof NotSound
        ? error.message
        : 'it is neither a hand-over nor an answer of GET /api/audit/signing-keys';
    throw new Undecided(`the hand-overs in ${what} cannot be read: ${why}`);
  }
}

/** @param {string[]} files @param {ReturnType<typeof readArguments>} values @param {Report} report */
function checkCompared(files, values, report) {
  const { paths, key, 'key-file': keyFile, handovers, witness, json, ...others } = values;
  const [odd] = Object.keys(others);
  const whys = { 'trust-inside': ': a checkpoint names no key', proof: ': name PROOF behind the two' };
  const why = odd === 'trust-inside' || odd === 'proof' ? whys[odd] : '';
  decidable(odd === undefined, `--${odd} does not go with compare${why}`);
  const options = optionsFrom(values);
  decidable(options.isPinned, 'compare needs the key of the log: give it with --key');
  report.facts.kind = 'comparison';
  checkFilesOfPair(files, { options, report });
}

/** @param {string} target @param {Check} check */
async function checkPath(target, check) {
  const { options, report } = check;
  const outs = [options.page, options.table].filter((out) => out !== null);
  try {
    await checkThing(target, check);
    const isTaken = (options.isPinned || options.isTrusting) && report.unproven.length === 0;
    for (const out of isTaken ? outs : []) {
      out.keep();
      report.facts.written = out.file;
    }
  } finally {
    for (const out of outs) out.drop();
  }
  must(report.lies.length === 0, report.lies.join('; '));
  const [lacking, ...others] = report.unproven;
  decidable(lacking === undefined, others.length > 0 ? `${lacking}; and ${others.length} more like it` : `${lacking}`);
  if (options.tokens !== null && (options.isPinned || options.isTrusting)) writeAll(report.files, options.tokens);
  if (options.isPinned) return;
  report.open.push('the origin: no key was pinned, so anybody can have made this, with a key of their own');
  decidable(
    options.isTrusting,
    'it is sound in itself, but no key was pinned: give the key of the log with --key, or say --trust-inside',
  );
}

/** @param {Map<string, Buffer>} files @param {string} folder */
function writeAll(files, folder) {
  decidable(files.size > 0, 'there are no time-stamp tokens that --tokens could write');
  const paths = [...files].map(([name, bytes]) => ({ file: path.join(folder, name), bytes }));
  for (const { file } of paths) decidable(!fs.existsSync(file), `${show(file)} is there, and nothing is overwritten`);
  fs.mkdirSync(folder, { recursive: true });
  for (const { file, bytes } of paths) fs.writeFileSync(file, bytes, { flag: 'wx', mode: 0o600 });
}

/** Whether a file looks like a signed note. @param {string} file @param {fs.Stats} stat */
function isNote(file, stat) {
  return stat.isFile() && stat.size <= limits.note && /\n\n— [^\n]*\n$/.test(readSmall(file, limits.note).toString());
}

/** @param {string} target @param {Check} check */
async function checkThing(target, check) {
  const { options, report } = check;
  const stat = fs.statSync(target, { throwIfNoEntry: false });
  decidable(stat, `there is no ${show(target)}`);
  const start = stat.isDirectory() ? '' : Buffer.concat([...readFile(target, 0, 16)]).toString('latin1');
  if (start === 'SQLite format 3\0') {
    report.facts.kind = 'log';
    decidable(options.at === null, '--at goes with bundles only');
    decidable(!options.page && !options.table, '--summary goes with bundles, --csv with exports');
    await checkLog(target, check);
  } else {
    decidable(options.files === null, '--files goes with log.db only');
    if (isNote(target, stat)) {
      report.facts.kind = 'comparison';
      decidable(options.at === null, '--at goes with bundles only');
      decidable(!options.page && !options.table, '--summary goes with bundles, --csv with exports');
      checkNote(target, check);
      return;
    }
    decidable(
      stat.isDirectory() || start.startsWith('PK'),
      `${show(target)} is no bundle, no export, no checkpoint and no log.db`,
    );
    const source = stat.isDirectory() ? openFolder(target) : openZip(target);
    const isBundle = source.names.includes('bundle.json');
    decidable(
      isBundle !== source.names.includes('manifest.json'),
      `${show(target)} holds no bundle.json or manifest.json, or both`,
    );
    report.facts.kind = isBundle ? 'bundle' : 'export';
    decidable(isBundle || options.at === null, '--at goes with bundles only');
    await (isBundle ? checkBundle : checkExport)(source, check);
  }
}

const [, entry = ''] = process.argv;
if (fs.existsSync(entry) && fs.realpathSync(entry) === fileURLToPath(import.meta.url)) {
  const { exit, text } = await run(process.argv.slice(2));
  process.stdout.write(text);
  process.exitCode = exit;
}
