import type { TableStep } from '../tables.ts';

/** The tables with texts that people wrote, or that may be about a person: they are rewritten after an erasure. */
export const personalTables: Readonly<Record<string, readonly string[]>> = {
  passwords: ['hash'],
  drafts: ['data'],
  own_drafts: ['title', 'data'],
  preferences: ['data'],
  replays: ['answer'],
};

/**
 * The tables of vaults. They have a separate schema, since they may be in another database than the log, and another
 * role may read them. As in the tables of the log, `log` is in each key, here as the number of a row of `vaults`, and
 * each step leads from one version to the next.
 */
export const vaultSteps: readonly (readonly TableStep[])[] = [
  [
    // `log_id`: the log that the vault was made for, by the name in headers; null until it is known.
    `CREATE TABLE annals_vault.vaults (
       log int PRIMARY KEY,
       site text NOT NULL UNIQUE,
       log_id text
     )`,
    // A row for each subject whose rows change together. It is locked, and has the last number that one of them got.
    `CREATE TABLE annals_vault.locks (
       log int NOT NULL,
       subject text NOT NULL,
       last_number bigint NOT NULL,
       PRIMARY KEY (log, subject)
     )`,
    `CREATE TABLE annals_vault.secrets (
       log int NOT NULL,
       name text NOT NULL,
       value text NOT NULL,
       PRIMARY KEY (log, name)
     )`,
    `CREATE TABLE annals_vault.passwords (
       log int NOT NULL,
       credential text NOT NULL,
       hash text NOT NULL,
       made_at bigint NOT NULL,
       PRIMARY KEY (log, credential)
     )`,
    `CREATE TABLE annals_vault.counters (
       log int NOT NULL,
       key text NOT NULL,
       failures int NOT NULL,
       locked_until bigint,
       touched bigint NOT NULL,
       is_known boolean NOT NULL,
       PRIMARY KEY (log, key)
     )`,
    'CREATE INDEX counters_by_age ON annals_vault.counters (log, is_known, touched)',
    // `number`: the order in which the keys were made.
    `CREATE TABLE annals_vault.log_keys (
       log int NOT NULL,
       name text NOT NULL,
       id text NOT NULL,
       number bigint NOT NULL,
       verifier_key text NOT NULL,
       seed text,
       retired_at text,
       signed_size bigint,
       signed_root bytea,
       PRIMARY KEY (log, name, id)
     )`,
    `CREATE TABLE annals_vault.disowned_keys (
       log int NOT NULL,
       id text NOT NULL,
       PRIMARY KEY (log, id)
     )`,
    `CREATE TABLE annals_vault.key_changes (
       log int NOT NULL,
       number bigint NOT NULL,
       name text NOT NULL,
       change text NOT NULL,
       PRIMARY KEY (log, number)
     )`,
    `CREATE TABLE annals_vault.key_hashes (
       log int NOT NULL,
       credential text NOT NULL,
       hash text NOT NULL,
       made_at bigint NOT NULL,
       PRIMARY KEY (log, credential)
     )`,
    `CREATE TABLE annals_vault.key_uses (
       log int NOT NULL,
       id text NOT NULL,
       used_at bigint NOT NULL,
       PRIMARY KEY (log, id)
     )`,
    `CREATE TABLE annals_vault.drafts (
       log int NOT NULL,
       id text NOT NULL,
       number bigint NOT NULL,
       caller text NOT NULL,
       collection text NOT NULL,
       document text NOT NULL,
       size bigint NOT NULL,
       expires_at bigint NOT NULL,
       data text NOT NULL,
       PRIMARY KEY (log, id)
     )`,
    'CREATE INDEX drafts_by_caller ON annals_vault.drafts (log, caller, number)',
    'CREATE INDEX drafts_by_document ON annals_vault.drafts (log, collection, document)',
    'CREATE INDEX drafts_by_expiry ON annals_vault.drafts (log, expires_at)',
    `CREATE TABLE annals_vault.own_drafts (
       log int NOT NULL,
       owner text NOT NULL,
       target text NOT NULL,
       revision bigint NOT NULL,
       version bigint,
       size bigint NOT NULL,
       updated_at bigint NOT NULL,
       title text NOT NULL,
       data text NOT NULL,
       PRIMARY KEY (log, owner, target)
     )`,
    'CREATE INDEX own_drafts_by_target ON annals_vault.own_drafts (log, target)',
    'CREATE INDEX own_drafts_by_age ON annals_vault.own_drafts (log, updated_at)',
    `CREATE TABLE annals_vault.preferences (
       log int NOT NULL,
       owner text NOT NULL,
       data text NOT NULL,
       PRIMARY KEY (log, owner)
     )`,
    `CREATE TABLE annals_vault.preview_tokens (
       log int NOT NULL,
       id text NOT NULL,
       hash text NOT NULL,
       maker text NOT NULL,
       view text NOT NULL,
       created_at bigint NOT NULL,
       expires_at bigint NOT NULL,
       PRIMARY KEY (log, id),
       UNIQUE (log, hash)
     )`,
    `CREATE TABLE annals_vault.replays (
       log int NOT NULL,
       key text NOT NULL,
       attempt text NOT NULL,
       fingerprint text NOT NULL,
       caller text NOT NULL,
       about text,
       answer text,
       expires_at bigint NOT NULL,
       PRIMARY KEY (log, key)
     )`,
    'CREATE INDEX replays_by_caller ON annals_vault.replays (log, caller, expires_at)',
    'CREATE INDEX replays_by_subject ON annals_vault.replays (log, about) WHERE about IS NOT NULL',
    'CREATE INDEX replays_by_expiry ON annals_vault.replays (log, expires_at)',
    // `until`: milliseconds since the epoch, by the clock of the server.
    `CREATE TABLE annals_vault.pins (
       log int NOT NULL,
       sha256 text NOT NULL,
       holder text NOT NULL,
       until bigint NOT NULL,
       PRIMARY KEY (log, sha256, holder)
     )`,
    'CREATE INDEX pins_by_holder ON annals_vault.pins (log, holder)',
    `CREATE TABLE annals_vault.removals (
       log int NOT NULL,
       sha256 text NOT NULL,
       holder text NOT NULL,
       is_doubtful boolean NOT NULL,
       until bigint NOT NULL,
       PRIMARY KEY (log, sha256)
     )`,
    `CREATE TABLE annals_vault.webhooks (
       log int NOT NULL,
       name text NOT NULL,
       position bigint NOT NULL,
       delivered_at bigint,
       PRIMARY KEY (log, name)
     )`,
    `CREATE TABLE annals_vault.deliveries (
       log int NOT NULL,
       webhook text NOT NULL,
       position bigint NOT NULL,
       id text NOT NULL,
       stream text NOT NULL,
       is_parked boolean NOT NULL,
       attempts int NOT NULL,
       due_at bigint,
       give_up_at bigint NOT NULL,
       tried_at bigint,
       failure text,
       PRIMARY KEY (log, webhook, position),
       UNIQUE (log, webhook, id)
     )`,
    'CREATE INDEX deliveries_due ON annals_vault.deliveries (log, webhook, due_at)',
    'CREATE INDEX deliveries_by_stream ON annals_vault.deliveries (log, webhook, stream, position)',
    // `epoch` counts how often the lease went to another holder.
    `CREATE TABLE annals_vault.leases (
       log int NOT NULL,
       name text NOT NULL,
       holder text NOT NULL,
       until bigint NOT NULL,
       epoch bigint NOT NULL,
       PRIMARY KEY (log, name)
     )`,
    `CREATE TABLE annals_vault.jobs (
       log int NOT NULL,
       name text NOT NULL,
       done_at bigint NOT NULL,
       PRIMARY KEY (log, name)
     )`,
    // The statistics of a column keep samples of it.
    ...Object.entries(personalTables).flatMap(([table, texts]) =>
      texts.map((text) => ({ onPostgres: `ALTER TABLE annals_vault.${table} ALTER COLUMN ${text} SET STATISTICS 0` })),
    ),
  ],
];
