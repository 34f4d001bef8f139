import { parseWitnessKey, type WitnessKey } from '../../events/proof/cosignatures.ts';

/** A witness, which cosigns checkpoints: its key, and the address before `add-checkpoint`. */
export type Witness = { key: WitnessKey; prefix: string };

/**
 * Reads a witness from its form in settings, `VERIFIER-KEY=URL`. The key has no `=`, because its bytes fill their
 * base64.
 *
 * @throws RangeError naming the problem, without the URL, which may hold a secret.
 */
export function parseWitness(text: string): Witness {
  const [, key = '', address = ''] = /^([^+]*\+[^+]*\+[A-Za-z0-9+/]*)=(.*)$/.exec(text) ?? [];
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash)
    throw new RangeError('has no http or https address without ? and # after the = behind its key');
  return { key: witnessKey(key), prefix: url.href.replace(/\/*$/, '/') };
}

function witnessKey(text: string): WitnessKey {
  try {
    return parseWitnessKey(text);
  } catch {
    throw new RangeError(
      'has no verifier key of a witness: name+id+key, of the type 04 (C2SP tlog-cosignature, Ed25519)',
    );
  }
}
