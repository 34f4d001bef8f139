import { DomainError } from '../../config/errors.ts';
import type { StampedCheckpoint } from '../../events/stamps.ts';

/**
 * A signed tree head (C2SP tlog-checkpoint): `note` is the signed note, `root` base64, `signedAt` ISO 8601, all of the log's
 * first `size` events.
 */
export type LogCheckpoint = { size: number; root: string; note: string; signedAt: string };

/**
 * What the service has found of the log that it goes through beside all else: `verified` says up to which position and when it last
 * found nothing wrong, null before the first time; `altered` what is wrong, in words, and among which events the first of it is,
 * where that is known.
 */
export type Verification = {
  verified: { to: number; at: string } | null;
  altered: { finding: string; from: number | null; to: number | null; at: string } | null;
};

/** Signs what the log is. All threads share one, in the main thread, which has the key. */
export type Notary = {
  /**
   * The newest checkpoint, of the log as it is now: one is signed if it has grown since.
   *
   * @throws DomainError `unavailable` when there is no room on the disk for it.
   */
  checkpoint: () => Promise<LogCheckpoint>;
  /** The newest checkpoints, newest first. */
  recent: (count: number) => Promise<LogCheckpoint[]>;
  /** Of each who vouches from outside the first checkpoint that holds the event at a position, and the newest, up to `size` events. */
  stamped: (position: number, size: number) => Promise<StampedCheckpoint[]>;
  /** The verifier key of the log (C2SP signed-note: name+hash+key), by which its checkpoints are checked. */
  verifierKey: () => Promise<string>;
  /** Whether the log is still what was signed, as far as the service has looked. */
  verification: () => Promise<Verification>;
};

/** The refusal of a signature for which there is no room: it may pass. */
export function noRoomToSign(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk to sign a checkpoint, try again later');
}
