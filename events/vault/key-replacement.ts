import { randomBytes } from 'node:crypto';
import { type HandedOver, signHandover } from '../proof/handovers.ts';
import { type Signer, signerOf } from '../proof/notes.ts';
import type { TreeHead } from '../proof/proofs.ts';
import type { KeyChange, NamedKey } from '../service-events/key-events.ts';

/** The key that signs a log now, and the newest tree head that it has signed. */
export type LogKey = { signer: Signer; signed: TreeHead | null };

/**
 * A key of a log, by its verifier key. `retiredAt` is null for the key that signs. The signatures of a disowned key do
 * not hold any more: events that it vouched for were lost, and the loss was accepted. The vault alone does not disown a
 * key: an event of the log has to say so too.
 */
export type KnownKey = { id: string; verifierKey: string; retiredAt: string | null; isDisowned: boolean };

/** A key that is to be disowned; `signed` as in {@link KeyChange}. */
export type GivenUp = { id: string; signed?: number };

/** The key that a caller wants to replace, by its id, and the head that it had signed when the caller looked. */
type ExpectedKey = { id: string; signed: TreeHead | null };

/** A wish for another key. */
export type Replacement = {
  reason: string;
  /** The keys that are disowned with it. */
  disowned?: readonly GivenUp[];
  /** The key that signed before, if it is not the one in this vault. */
  from?: NamedKey;
  /** The head at which the present key hands over to the new one. */
  handedOver?: HandedOver;
  /** If another key signs, or this one has signed another head, nothing is changed. */
  expected?: ExpectedKey;
};

/** A key as a vault stores it. The seed, in base64url, is erased when the key retires. */
export type StoredKey = {
  id: string;
  verifierKey: string;
  seed: string | null;
  retiredAt: string | null;
  signedSize: number | null;
  signedRoot: Buffer | null;
};

/** A change that no event tells of yet; `change` is JSON. */
export type StoredChange = { number: number; change: string };

/** The keys of a log in a vault, oldest first, the ids of the disowned ones, and the changes that no event tells of. */
type StoredKeys = {
  log: string;
  keys: readonly StoredKey[];
  disowned: ReadonlySet<string>;
  untold: readonly StoredChange[];
};

/** The rows that a replacement writes, beside the end of the present key. */
export type PlannedReplacement = {
  made: StoredKey;
  disowned: readonly string[];
  /** Changes that no event tells of yet, and that now read otherwise. */
  corrected: readonly StoredChange[];
  /** Changes that events have to tell of, in this order. */
  noted: readonly KeyChange[];
};

/** Makes a key for a log. */
export function newKey(log: string): StoredKey {
  const seed = randomBytes(32);
  const { id, key } = signerOf(log, seed);
  const blank = { retiredAt: null, signedSize: null, signedRoot: null };
  return { id, verifierKey: key, seed: seed.toString('base64url'), ...blank };
}

/**
 * Decides what a replacement writes.
 *
 * @param made the key that takes over.
 * @returns null if another key was expected than the one that signs.
 */
export function planReplacement(
  { log, keys, disowned, untold }: StoredKeys,
  replacement: Replacement,
  made: StoredKey,
): PlannedReplacement | null {
  const { disowned: givenUp = [], from, handedOver, expected, reason } = replacement;
  const present = keys.find(isCurrent);
  if (expected && !(present && isExpected(expected, logKeyOf(log, present)))) return null;
  const known = keys.map((key) => knownKey(key, disowned));
  const replaced = from ?? present;
  const handover =
    present && handedOver && signHandover(logKeyOf(log, present).signer, logKeyOf(log, made).signer, handedOver);
  const noted: KeyChange[] = givenUp.map(({ id, ...signed }) => ({
    kind: 'disowned',
    key: nameOf(id, known),
    ...signed,
    reason,
  }));
  if (replaced) {
    const keysOfChange = { from: nameOf(replaced.id, known), to: keyOf(made) };
    noted.push({ kind: 'replaced', ...keysOfChange, ...(handover !== undefined && { handover }), reason });
  }
  const ids = givenUp.map(({ id }) => id);
  return {
    // The new key signs the head as well, so it will sign no log without these events.
    made: handover === undefined ? made : { ...made, ...signedColumns(handedOver ?? null) },
    disowned: ids,
    corrected: untold.flatMap((change) => withoutLostHandover(change, new Set(ids)) ?? []),
    noted,
  };
}

/** Takes a hand-over out of a change if its new key is disowned before an event tells of it: that log is lost. */
function withoutLostHandover({ number, change }: StoredChange, disowned: ReadonlySet<string>): StoredChange | null {
  const { handover, ...rest } = JSON.parse(change);
  return handover !== undefined && disowned.has(rest.to.id) ? { number, change: JSON.stringify(rest) } : null;
}

/** Whether the key that signs is the expected one, and has signed nothing since. */
function isExpected({ id, signed: before }: ExpectedKey, { signer, signed }: LogKey): boolean {
  return signer.id === id && isSameHead(signed, before);
}

/** Whether two heads are the same; null: nothing was signed. */
export function isSameHead(one: TreeHead | null, other: TreeHead | null): boolean {
  if (one === null || other === null) return one === other;
  return one.size === other.size && Buffer.from(one.root).equals(other.root);
}

/** Whether it is the key that signs. */
export function isCurrent({ retiredAt }: Pick<KnownKey, 'retiredAt'>): boolean {
  return retiredAt === null;
}

/** A stored key, ready to sign. */
export function logKeyOf(log: string, { seed, ...key }: StoredKey): LogKey {
  if (seed === null) throw new Error(`the vault does not hold the key that was made for ${log}`);
  return { signer: signerOf(log, Buffer.from(seed, 'base64url')), signed: signedHead(key) };
}

/** The newest head that a key has signed. */
export function signedHead({ signedSize, signedRoot }: Pick<StoredKey, 'signedSize' | 'signedRoot'>): TreeHead | null {
  return signedSize === null || signedRoot === null ? null : { size: signedSize, root: signedRoot };
}

/** The reverse of {@link signedHead}. */
function signedColumns(head: TreeHead | null): Pick<StoredKey, 'signedSize' | 'signedRoot'> {
  return { signedSize: head?.size ?? null, signedRoot: head && Buffer.from(head.root) };
}

/** The public part of a stored key. */
export function knownKey({ id, verifierKey, retiredAt }: StoredKey, disowned: ReadonlySet<string>): KnownKey {
  return { id, verifierKey, retiredAt, isDisowned: disowned.has(id) };
}

/** A key by its id, with its verifier key if it is one of these. */
export function nameOf(id: string, known: readonly KnownKey[]): NamedKey {
  const key = known.find((one) => one.id === id);
  return key ? keyOf(key) : { id };
}

/** A key as events name it. */
export function keyOf({ id, verifierKey }: Pick<KnownKey, 'id' | 'verifierKey'>): NamedKey {
  return { id, verifierKey };
}
