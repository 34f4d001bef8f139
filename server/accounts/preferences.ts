import { hash } from 'node:crypto';
import { DomainError } from '../../config/errors.ts';
import { isObject, type Json } from '../../config/schema.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import type { Preferences } from '../ports.ts';

/** The most bytes of the preferences of a user, as JSON in UTF-8, and of a change of them. */
export const maxPreferences = 64 * 1024;

/** Keeps the preferences of users in the vault. */
export function keepPreferences(preferences: VaultPort['preferences']): Preferences {
  return {
    read: async (user) => (await preferences.get(user)) ?? '{}',
    change: (user, patch, expected) =>
      preferences.change(user, (before) => {
        if (expected !== null && expected !== '*' && !expected.includes(tagOf(before ?? '{}')))
          throw new DomainError('stale', 'the preferences are not the ones that if-match names');
        const data = JSON.stringify(merged(before === null ? {} : JSON.parse(before), patch));
        const size = Buffer.byteLength(data);
        if (size <= maxPreferences) return data;
        throw new DomainError(
          'too_large',
          `preferences must be at most ${maxPreferences} bytes, these would be ${size}`,
        );
      }),
    forget: preferences.delete,
  };
}

/** The tag of preferences. */
export function tagOf(data: string): string {
  return hash('sha256', data, 'base64url').slice(0, 16);
}

/** Applies a JSON merge patch (RFC 7396): objects are merged, null removes, all else replaces. */
export function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, merged(result.get(name), value));
  }
  return Object.fromEntries(result);
}
