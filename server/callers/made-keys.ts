import { hash } from 'node:crypto';
import type { KeyGrant } from '../../events/facts/api-keys.ts';
import type { KeyState } from '../../projections/tables/api-keys.ts';
import { createCache } from '../../projections/tables/cache.ts';
import type { App } from '../app.ts';
import type { MadeKey } from '../http/requests.ts';

/** `annals_<id>_<random>`: 16 hexadecimal digits, and 32 bytes in base64url. */
const form = /^annals_([\da-f]{16})_[\w-]{43}$/;
const minuteMilliseconds = 60_000;

type KeyApp = Pick<App, 'apiKeys' | 'clock'>;

/** Whether a key is valid with this secret: it is not revoked or expired, and the secret is not replaced. */
export function isLivingKey(
  { apiKeys, clock }: KeyApp,
  { id, credential }: Pick<MadeKey, 'id' | 'credential'>,
): boolean {
  const state = apiKeys.state(id);
  return state !== null && validOf(state, clock.believed()).includes(credential);
}

/** The credentials that are valid at a time, in milliseconds since the epoch; null instead of one that is not. */
function validOf({ credential, previous, previousUntil, expiresAt }: KeyState, now: number): (string | null)[] {
  if (expiresAt !== null && expiresAt <= now) return [null, null];
  return [credential, previousUntil !== null && previousUntil > now ? previous : null];
}

/**
 * Reads API keys that were made at run time: null for any other text, and for a key that is not valid. Neither the
 * answer nor its time reveals the difference. The main thread is asked about a secret once, since a secret never goes
 * to another key. Whether the key is valid is looked up in the read tables for every request.
 */
export function keyReader(app: App): (text: string) => MadeKey | null | Promise<MadeKey | null> {
  const { apiKeys, keyService, clock, log } = app;
  const credentials = createCache<string>();
  const grants = createCache<KeyGrant>();
  const noted = new Map<string, number>();

  return (text) => {
    const id = form.exec(text)?.[1];
    if (id === undefined) return null;
    const digest = hash('sha256', text, 'base64');
    const known = credentials.get(digest);
    return known === undefined ? ask(id, text, digest) : living(id, known);
  };

  async function ask(id: string, text: string, digest: string): Promise<MadeKey | null> {
    const state = apiKeys.state(id);
    const valid = state ? validOf(state, clock.believed()) : [null, null];
    const credential = await keyService.match(valid, text);
    if (credential === null) return null;
    credentials.set(digest, credential);
    return living(id, credential);
  }

  function living(id: string, credential: string): MadeKey | null {
    if (!isLivingKey(app, { id, credential })) return null;
    const grant = grantOf(id);
    if (!grant) return null;
    note(id);
    return { id, credential, ...grant };
  }

  /** The rights of a key never change. */
  function grantOf(id: string): KeyGrant | null {
    const known = grants.get(id);
    if (known) return known;
    const found = apiKeys.find(id);
    if (!found) return null;
    const { scopes, audit } = found;
    grants.set(id, { scopes, audit });
    return { scopes, audit };
  }

  /** Notes the use of a key, once a minute: not every request is worth a write. */
  function note(id: string): void {
    const minute = Math.floor(clock.believed() / minuteMilliseconds) * minuteMilliseconds;
    if (noted.get(id) === minute) return;
    noted.set(id, minute);
    keyService.used(id, minute).catch((err) => log.warn({ err }, 'the last use of an API key could not be noted'));
  }
}
