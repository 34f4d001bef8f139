import { counted } from '../../../config/counted.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { cosignaturesOf, isCosignedBy, type WitnessKey } from '../../../events/proof/cosignatures.ts';
import { parseNote } from '../../../events/proof/notes.ts';
import { consistencyProof } from '../../../events/proof/proofs.ts';
import type { Witness } from '../../settings/cosigners.ts';
import { ask } from './asking.ts';

/** A witness to ask; `allowPrivate`: even if its address is not public. */
export type Cosigner = Witness & { allowPrivate: boolean };

/**
 * Has a witness cosign checkpoints (C2SP tlog-witness), and returns the signature line, after checking it. The witness
 * itself says which size it has seen, so nothing is remembered between runs.
 *
 * @throws Error with the reason, for example if the witness has seen another log.
 */
export function cosignedBy({ key, prefix, allowPrivate }: Cosigner, log: LogReader) {
  const receiver = { url: `${prefix}add-checkpoint`, allowPrivate };
  let seen = 0;

  async function cosign({ size, note }: { size: number; note: string }, signal: AbortSignal): Promise<string> {
    // Between the response with the size that it has seen and the next request, another client may have sent it another
    // checkpoint.
    for (let tries = 0; tries < 3; tries += 1) {
      const old = Math.min(seen, size);
      const proof = consistencyProof(old, size, log.hashes);
      const lines = [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', note];
      const question = { type: 'text/plain; charset=utf-8', body: lines.join('\n') };
      const answer = await ask(receiver, question, signal);
      if (answer.status === 200) {
        const line = lineOf(note, answer.body.toString(), key);
        seen = size;
        return line;
      }
      if (answer.status !== 409) throw new Error(`it answered ${answer.status}`);
      const known = answer.type === 'text/x.tlog.size' ? sizeIn(answer.body.toString()) : null;
      if (known === null || known === old)
        throw new Error(`it answered 409: at event ${size} it has seen another log than this one`);
      if (known > size) throw new Error(`it has seen a log of ${counted(known, 'event')}, this one has ${size}`);
      seen = known;
    }
    throw new Error('another client asks it at the same time');
  }

  return {
    cosign,
    /** When this witness has cosigned a note, by its clock (ISO 8601); null if it has not. */
    timeOf: (note: string): string | null => {
      const parsed = parseNote(note);
      const said = parsed && isCosignedBy(parsed, key) ? cosignaturesOf(parsed, [key]).cosignatures : [];
      return said[0]?.time ?? null;
    },
    /** True for a note that this witness has not cosigned. */
    isDue: (note: string): boolean => {
      const parsed = parseNote(note);
      return parsed !== null && !isCosignedBy(parsed, key);
    },
  };
}

/** The signature line of a witness in its answer, which must be valid. Lines of others are ignored. */
function lineOf(note: string, answer: string, key: WitnessKey): string {
  for (const line of answer.split('\n')) {
    const parsed = parseNote(`${note.slice(0, note.lastIndexOf('\n\n') + 2)}${line}\n`);
    if (!parsed || !isCosignedBy(parsed, key)) continue;
    const { wrong } = cosignaturesOf(parsed, [key]);
    if (wrong === null) return `${line}\n`;
    throw new Error('its cosignature does not fit the checkpoint and its key');
  }
  throw new Error('its answer holds no cosignature by its key');
}

function sizeIn(text: string): number | null {
  const [, size] = /^(0|[1-9]\d{0,15})\n$/.exec(text) ?? [];
  return size !== undefined && Number.isSafeInteger(Number(size)) ? Number(size) : null;
}
