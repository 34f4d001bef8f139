import type { PostgresStatement } from '../../../storage/postgres/connection.ts';
import type { TreeHead } from '../../proof/proofs.ts';
import type { KeyChange } from '../../service-events/key-events.ts';
import {
  isCurrent,
  isSameHead,
  knownKey,
  type LogKey,
  logKeyOf,
  newKey,
  type PlannedReplacement,
  planReplacement,
  type Replacement,
  type StoredChange,
  type StoredKey,
  signedHead,
} from '../../vault/key-replacement.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './rows.ts';

/** A log by its name, and the number of its vault. */
type OfLog = { log: number; name: string };

/** The keys that sign checkpoints, as {@link VaultPort} has them: all nodes sign with the same. */
export function openLogKeys(rows: VaultRows): VaultPort['logKeys'] {
  const { log, read, write, change } = rows;

  async function current(name: string): Promise<LogKey> {
    const keys: StoredKey[] = await read(keysOf(log, name));
    return logKeyOf(name, keys.find(isCurrent) ?? (await make(rows, name)));
  }

  return {
    current,
    replace: (name, replacement) => replace(rows, name, replacement),
    async known(name) {
      const [keys, disowned]: [StoredKey[], Set<string>] = [
        await read(keysOf(log, name)),
        idsOf(await read(disownedIds(log))),
      ];
      return keys.map((key) => knownKey(key, disowned));
    },
    async disowned(name) {
      const found = await read({
        text: `SELECT id FROM annals_vault.disowned_keys WHERE log = $1 AND id NOT IN (
                 SELECT id FROM annals_vault.log_keys WHERE log = $1 AND name <> $2
               )`,
        values: [log, name],
      });
      return idsOf(found);
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
            text: `SELECT signed_size AS "signedSize", signed_root AS "signedRoot" FROM annals_vault.log_keys
                   WHERE log = $1 AND name = $2 AND id = $3 AND retired_at IS NULL FOR UPDATE`,
            values: [log, name, id],
          },
        ],
        ([found]) => {
          const key: StoredKey | undefined = found?.[0];
          const isSame = key !== undefined && isSameHead(signedHead(key), before);
          return { statements: isSame ? [signing({ log, name }, id, head)] : [], value: isSame };
        },
      ),
    note: (name, noted) =>
      change([lockOf(log, 'keys')], ([lock]) => {
        const number: number = lock?.[0].last + 1;
        return { statements: [...noting({ log, name }, number, [noted])], value: undefined };
      }),
    async untold(name) {
      const changes: StoredChange[] = await read(changesOf(log, name));
      return changes.map(({ number, change: text }) => ({ number, change: JSON.parse(text) }));
    },
    async told(number) {
      await write({
        text: 'DELETE FROM annals_vault.key_changes WHERE log = $1 AND number = $2',
        values: [log, number],
      });
    },
  };
}

/** Of two nodes that make the first key at the same time, the second one gets that of the first. */
function make({ log, change }: VaultRows, name: string): Promise<StoredKey> {
  return change([lockOf(log, 'keys'), keysOf(log, name)], ([lock, keys = []]) => {
    const found = (keys as StoredKey[]).find(isCurrent);
    if (found) return { statements: [], value: found };
    const made = newKey(name);
    const number: number = lock?.[0].last + 1;
    return { statements: [insertion({ log, name }, number, made), numberedUpTo(log, 'keys', number)], value: made };
  });
}

function replace({ log, change }: VaultRows, name: string, replacement: Replacement): Promise<string | null> {
  const keys = keysOf(log, name);
  // Nothing is signed with the present key between the look at what it has signed and its end.
  const lockedKeys = { ...keys, text: `${keys.text} FOR UPDATE` };
  const reads = [lockOf(log, 'keys'), lockedKeys, disownedIds(log), changesOf(log, name)];
  return change<string | null>(reads, ([lock, found = [], disowned = [], untold = []]) => {
    const stored = {
      log: name,
      keys: found as StoredKey[],
      disowned: idsOf(disowned),
      untold: untold as StoredChange[],
    };
    const plan = planReplacement(stored, replacement, newKey(name));
    if (!plan) return { statements: [], value: null };
    const number: number = lock?.[0].last + 1;
    return { statements: replacing({ log, name }, number, plan), value: plan.made.verifierKey };
  });
}

/** @param number that of the new key; the changes have those after it. */
function replacing({ log, name }: OfLog, number: number, plan: PlannedReplacement): PostgresStatement[] {
  return [
    {
      text: `UPDATE annals_vault.log_keys SET retired_at = $3, seed = NULL
             WHERE log = $1 AND name = $2 AND retired_at IS NULL`,
      values: [log, name, new Date().toISOString()],
    },
    ...plan.corrected.map((change) => ({
      text: 'UPDATE annals_vault.key_changes SET change = $3 WHERE log = $1 AND number = $2',
      values: [log, change.number, change.change],
    })),
    {
      text: 'INSERT INTO annals_vault.disowned_keys SELECT $1::int, id FROM unnest($2::text[]) AS ids (id) ON CONFLICT DO NOTHING',
      values: [log, plan.disowned],
    },
    insertion({ log, name }, number, plan.made),
    ...noting({ log, name }, number + 1, plan.noted),
  ];
}

/** Writes changes that events have to tell of, numbered from `first`. */
function noting({ log, name }: OfLog, first: number, changes: readonly KeyChange[]): PostgresStatement[] {
  return [
    ...changes.map((change, at) => ({
      text: 'INSERT INTO annals_vault.key_changes (log, number, name, change) VALUES ($1, $2, $3, $4)',
      values: [log, first + at, name, JSON.stringify(change)],
    })),
    numberedUpTo(log, 'keys', first + changes.length - 1),
  ];
}

function insertion({ log, name }: OfLog, number: number, key: StoredKey): PostgresStatement {
  const { id, verifierKey, seed, signedSize, signedRoot } = key;
  return {
    text: `INSERT INTO annals_vault.log_keys (log, name, id, number, verifier_key, seed, signed_size, signed_root)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [log, name, id, number, verifierKey, seed, signedSize, signedRoot],
  };
}

function signing({ log, name }: OfLog, id: string, { size, root }: TreeHead): PostgresStatement {
  return {
    text: `UPDATE annals_vault.log_keys SET signed_size = $4, signed_root = $5 WHERE log = $1 AND name = $2 AND id = $3`,
    values: [log, name, id, size, Buffer.from(root)],
  };
}

/** Selects the keys of a log as {@link StoredKey}, oldest first. */
function keysOf(log: number, name: string): PostgresStatement & { text: string } {
  return {
    text: `SELECT id, verifier_key AS "verifierKey", seed, retired_at AS "retiredAt", signed_size AS "signedSize",
             signed_root AS "signedRoot"
           FROM annals_vault.log_keys WHERE log = $1 AND name = $2 ORDER BY number`,
    values: [log, name],
  };
}

/** Selects the changes that no event tells of, as {@link StoredChange}, oldest first. */
function changesOf(log: number, name: string): PostgresStatement {
  return {
    text: 'SELECT number, change FROM annals_vault.key_changes WHERE log = $1 AND name = $2 ORDER BY number',
    values: [log, name],
  };
}

function disownedIds(log: number): PostgresStatement {
  return { text: 'SELECT id FROM annals_vault.disowned_keys WHERE log = $1', values: [log] };
}

function idsOf(rows: readonly { id: string }[]): Set<string> {
  return new Set(rows.map(({ id }) => id));
}
