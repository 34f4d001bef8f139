import type { Logger } from 'pino';
import { logFile } from '../../../projections/tables/files.ts';
import { openAlteredNote } from '../../audit/notary/altered-note.ts';
import { type Anchoring, openAnchoring } from '../../audit/notary/anchoring.ts';
import type { NotaryOptions } from '../../audit/notary/head-signing.ts';
import { type MainNotary, openNotary } from '../../audit/notary/signing.ts';
import { openVerifying, type Verifying } from '../../audit/notary/verifying.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import type { Notary, Verification } from '../../ports.ts';
import { certificatesIn } from '../../settings/certificates.ts';
import { parseWitness } from '../../settings/cosigners.ts';
import type { Settings } from '../../settings/settings.ts';
import { StartError, type Writer } from '../../writer/writer.ts';
import type { Directory } from '../directory.ts';

/** Signing checkpoints of the log, copying them, and checking the log against them. */
export type Checkpointing = {
  /**
   * Gives the notary, and the number of events that a key had signed before.
   *
   * @throws StartError when the log is not the one that was anchored.
   */
  start: (opened: CheckpointingParts) => Promise<{ notary: Notary; signedAtStart: number }>;
  /** The result of the background check; null before the start. */
  verification: () => Verification | null;
  /** Signs the last events, also if the start was cut short. */
  close: () => Promise<void>;
};

/** `upToDate`, `tell` and `onKey` as the notary has them. `found`: events in the log before this start. */
type CheckpointingParts = Required<Pick<NotaryOptions, 'upToDate' | 'tell' | 'onKey'>> & {
  logId: string;
  /** Events in the log. */
  size: number;
  found: number;
  store: BlobGuard['store'];
};

type Options = {
  settings: Settings;
  directory: Directory;
  keep: Writer['keepCheckpoint'];
  now: () => number;
  log: Logger;
  /** True for a service that runs a single command: copying and checking are left to the next one. */
  isBrief: boolean;
  /** Called when the log is found not to be the one that was signed. */
  onContradiction: (error: Error) => void;
};

/**
 * Refuses to send checkpoints unencrypted through the Internet. A time-stamp authority is exempt: it gets only a hash,
 * and most authorities are reached by http.
 *
 * @throws StartError for such a webhook or witness.
 */
export function requireSecrecy(settings: Settings): void {
  if (!settings.isProduction) return;
  const { webhook = 'https:', webhookAllowPrivate, witnesses, witnessAllowPrivate } = settings;
  if (!webhookAllowPrivate && !webhook.startsWith('https:'))
    throw new StartError(
      'ANNALS_CHECKPOINT_WEBHOOK must be https in production; ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE=true allows http to a network of ' +
        'your own',
    );
  if (!witnessAllowPrivate && !witnesses.every((witness) => parseWitness(witness).prefix.startsWith('https:')))
    throw new StartError(
      'ANNALS_WITNESSES must be https addresses in production; ANNALS_WITNESS_ALLOW_PRIVATE=true allows http to a network of your own',
    );
}

/** Prepares the checkpoints of a log; nothing is opened before `start`. */
export function createCheckpointing(options: Options): Checkpointing {
  const { settings, directory, keep, now, log, isBrief, onContradiction } = options;
  const file = logFile(directory.path);
  const keys = directory.vaultPort.logKeys;
  const note = openAlteredNote(directory.path);
  let signing: MainNotary | null = null;
  let anchoring: Anchoring | null = null;
  let verifying: Verifying | null = null;

  async function start({
    logId,
    size,
    found,
    store,
    ...ways
  }: CheckpointingParts): Promise<{ notary: Notary; signedAtStart: number }> {
    requireSecrecy(settings);
    const sealKey = directory.vault.seals().key;
    const onSigned = () => anchoring?.wake();
    const altered = note.read;
    const notary = openNotary({ file, keys, keep, now, log, sealKey, ...ways, altered, onSigned });
    signing = notary;
    const signedAtStart = await notary.signedSize();
    if (!isBrief) {
      anchoring = openCopies(notary, store, ways.upToDate);
      await anchoring.start();
    }
    notary.begin();
    // Otherwise a service that is killed soon after each start would leave them unsigned.
    if (!isBrief && signedAtStart < found) await notary.signQuietly();
    const percent = isBrief ? 0 : settings.verifyPercent;
    const checks = openVerifying({ file, logId, keys, sealKey, now, percent, size, note, log });
    verifying = checks;
    return { notary: { ...notary, verification: async () => checks.verification() }, signedAtStart };
  }

  function openCopies(notary: MainNotary, store: BlobGuard['store'], upToDate: () => Promise<void>): Anchoring {
    const { webhook, webhookAllowPrivate, tsaUrl, tsaAllowPrivate, tsaCa, witnesses, witnessAllowPrivate } = settings;
    const trusted = tsaCa === undefined ? [] : certificatesIn(tsaCa);
    return openAnchoring({
      file,
      keys,
      keep,
      store,
      upToDate,
      webhook: webhook === undefined ? null : { url: webhook, allowPrivate: webhookAllowPrivate },
      authority: tsaUrl === undefined ? null : { url: tsaUrl, allowPrivate: tsaAllowPrivate, trusted },
      witnesses: witnesses.map((witness) => ({ ...parseWitness(witness), allowPrivate: witnessAllowPrivate })),
      onContradiction(error) {
        notary.refuse(error);
        onContradiction(error);
      },
      log,
      now,
    });
  }

  async function close(): Promise<void> {
    await verifying?.close();
    await signing?.close();
    await anchoring?.close();
  }

  return { start, verification: () => verifying?.verification() ?? null, close };
}
