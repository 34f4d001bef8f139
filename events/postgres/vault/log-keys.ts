import { randomBytes } from 'node:crypto';
import { signHandover } from '../../proof/handovers.ts';
import { signerOf } from '../../proof/notes.ts';
import type { KeyChange } from '../../service-events/key-events.ts';
import {
  isExpected,
  type KnownKey,
  keyOf,
  type LogKey,
  nameOf,
  type Replacement,
  withoutLostHandover,
} from '../../vault/log-keys.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './running.ts';

type KeyRow = {
  id: string;
  number: number;
  verifier_key: string;
  seed: string | null;
  retired_at: string | null;
  signed_size: number | null;
  signed_root: Buffer | null;
};

type ChangeRow = { number: number; change: string };

/** The keys that sign checkpoints, as {@link VaultPort} has them: all nodes sign with the same. */
export function openLogKeys({ log, read, write, change }: VaultRows): VaultPort['logKeys'] {
  const keysOf = (name: string) => ({
    text: `SELECT id, number, verifier_key, seed, retired_at, signed_size, signed_root
           FROM annals_vault.log_keys WHERE log = $1 AND name = $2 ORDER BY number`,
    values: [log, name],
  });
  const disownedIds = { text: 'SELECT id FROM annals_vault.disowned_keys WHERE log = $1', values: [log] };
  const changesOf = (name: string) => ({
    text: 'SELECT number, change FROM annals_vault.key_changes WHERE log = $1 AND name = $2 ORDER BY number',
    values: [log, name],
  });
  const insertion = (name: string, { id, number, verifier_key, seed, retired_at }: KeyRow) => ({
    text: `INSERT INTO annals_vault.log_keys (log, name, id, number, verifier_key, seed, retired_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    values: [log, name, id, number, verifier_key, seed, retired_at],
  });
  const notice = (name: string, number: number, told: KeyChange) => ({
    text: 'INSERT INTO annals_vault.key_changes (log, number, name, change) VALUES ($1, $2, $3, $4)',
    values: [log, number, name, JSON.stringify(told)],
  });

  async function current(name: string): Promise<LogKey> {
    const found = (await read(keysOf(name))).find(isCurrent);
    return logKeyOf(name, found ?? (await make(name)));
  }

  /** Of two nodes that make the first key at the same time, the second one gets that of the first. */
  function make(name: string): Promise<KeyRow> {
    return change([lockOf(log, 'keys'), keysOf(name)], ([lock, keys = []]) => {
      const found = (keys as KeyRow[]).find(isCurrent);
      if (found) return { statements: [], value: found };
      const made = newKey(name, lock?.[0].last + 1);
      return { statements: [insertion(name, made), numberedUpTo(log, 'keys', made.number)], value: made };
    });
  }

  function replace(name: string, replacement: Replacement): Promise<string | null> {
    const { disowned = [], from, handedOver, expected, reason } = replacement;
    const keysQuery = keysOf(name);
    // Nothing is signed with the present key between the look at what it has signed and its end.
    const lockedKeys = { ...keysQuery, text: `${keysQuery.text} FOR UPDATE` };
    const reads = [lockOf(log, 'keys'), lockedKeys, disownedIds, changesOf(name)];
    return change<string | null>(reads, ([lock, rows = [], before = [], untold = []]) => {
      let last: number = lock?.[0].last;
      const next = () => {
        last += 1;
        return last;
      };
      const keys = rows as KeyRow[];
      const all = keys.map((row) => knownOf(row, new Set(before.map(({ id }) => id))));
      const old = keys.find(isCurrent);
      if (expected && !(old && isExpected(expected, logKeyOf(name, old)))) return { statements: [], value: null };
      const made = newKey(name, next());
      const { signer } = logKeyOf(name, made);
      const ids = disowned.map(({ id }) => id);
      const replaced = from ?? all.find(({ retiredAt }) => retiredAt === null);
      const handover = old && handedOver && signHandover(logKeyOf(name, old).signer, signer, handedOver);
      const changes: KeyChange[] = disowned.map(({ id, ...signed }) => ({
        kind: 'disowned',
        key: nameOf(id, all),
        ...signed,
        reason,
      }));
      if (replaced)
        changes.push({
          kind: 'replaced',
          from: nameOf(replaced.id, all),
          to: keyOf({ id: made.id, verifierKey: made.verifier_key }),
          ...(handover !== undefined && { handover }),
          reason,
        });
      const statements = [
        {
          text: `UPDATE annals_vault.log_keys SET retired_at = $3, seed = NULL
                 WHERE log = $1 AND name = $2 AND retired_at IS NULL`,
          values: [log, name, new Date().toISOString()],
        },
        ...(untold as ChangeRow[]).flatMap(({ number, change: text }) => {
          const without = withoutLostHandover(text, new Set(ids));
          if (without === null) return [];
          const update = 'UPDATE annals_vault.key_changes SET change = $3 WHERE log = $1 AND number = $2';
          return [{ text: update, values: [log, number, without] }];
        }),
        {
          text: 'INSERT INTO annals_vault.disowned_keys SELECT $1::int, id FROM unnest($2::text[]) AS ids (id) ON CONFLICT DO NOTHING',
          values: [log, ids],
        },
        insertion(name, made),
        // The new key signs the head as well, so it will sign no log without these events.
        ...(handover !== undefined && handedOver ? [signing(name, made.id, handedOver)] : []),
        ...changes.map((told) => notice(name, next(), told)),
      ];
      return { statements: [...statements, numberedUpTo(log, 'keys', last)], value: made.verifier_key };
    });
  }

  function signing(name: string, id: string, { size, root }: { size: number; root: Uint8Array }) {
    return {
      text: `UPDATE annals_vault.log_keys SET signed_size = $4, signed_root = $5 WHERE log = $1 AND name = $2 AND id = $3`,
      values: [log, name, id, size, Buffer.from(root)],
    };
  }

  return {
    current,
    replace,
    async known(name) {
      const [rows, disowned] = [await read(keysOf(name)), await read(disownedIds)];
      return (rows as KeyRow[]).map((row) => knownOf(row, new Set(disowned.map(({ id }) => id))));
    },
    async disowned(name) {
      const rows = await read({
        text: `SELECT id FROM annals_vault.disowned_keys WHERE log = $1 AND id NOT IN (
                 SELECT id FROM annals_vault.log_keys WHERE log = $1 AND name <> $2
               )`,
        values: [log, name],
      });
      return new Set(rows.map(({ id }) => id));
    },
    signed: () =>
      read({
        text: `SELECT name AS log, signed_size AS size, signed_root AS root, verifier_key AS key FROM annals_vault.log_keys
               WHERE log = $1 AND retired_at IS NULL AND signed_size IS NOT NULL ORDER BY number`,
        values: [log],
      }),
    sign: (name, id, head, before) =>
      // The lock of the row keeps two nodes from signing heads that contradict each other: the second sees what the
      // first has signed.
      change(
        [
          {
            text: `SELECT signed_size, signed_root FROM annals_vault.log_keys
                   WHERE log = $1 AND name = $2 AND id = $3 AND retired_at IS NULL FOR UPDATE`,
            values: [log, name, id],
          },
        ],
        ([found]) => {
          const row: KeyRow | undefined = found?.[0];
          const isSame = row && row.signed_size === (before?.size ?? null) && isSameRoot(row.signed_root, before?.root);
          return isSame ? { statements: [signing(name, id, head)], value: true } : { statements: [], value: false };
        },
      ),
    note: (name, told) =>
      change([lockOf(log, 'keys')], ([lock]) => {
        const number: number = lock?.[0].last + 1;
        return { statements: [notice(name, number, told), numberedUpTo(log, 'keys', number)], value: undefined };
      }),
    async untold(name) {
      const rows = (await read(changesOf(name))) as ChangeRow[];
      return rows.map(({ number, change: text }) => ({ number, change: JSON.parse(text) }));
    },
    async told(number) {
      await write({
        text: 'DELETE FROM annals_vault.key_changes WHERE log = $1 AND number = $2',
        values: [log, number],
      });
    },
  };
}

function newKey(name: string, number: number): KeyRow {
  const seed = randomBytes(32);
  const { id, key } = signerOf(name, seed);
  const blank = { retired_at: null, signed_size: null, signed_root: null };
  return { id, number, verifier_key: key, seed: seed.toString('base64url'), ...blank };
}

function isCurrent({ retired_at: retiredAt }: { retired_at: string | null }): boolean {
  return retiredAt === null;
}

function logKeyOf(name: string, { seed, signed_size: size, signed_root: root }: KeyRow): LogKey {
  const signer = signerOf(name, Buffer.from(seed ?? '', 'base64url'));
  return { signer, signed: size === null || root === null ? null : { size, root } };
}

function knownOf({ id, verifier_key: verifierKey, retired_at: retiredAt }: KeyRow, disowned: Set<string>): KnownKey {
  return { id, verifierKey, retiredAt, isDisowned: disowned.has(id) };
}

function isSameRoot(root: Buffer | null, before: Uint8Array | undefined): boolean {
  return root === null ? before === undefined : before !== undefined && root.equals(before);
}
