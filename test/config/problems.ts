import assert from 'node:assert/strict';
import { ConfigError, checkConfig } from '../../config/check.ts';

/** The problems of a configuration as `path: message`, [] when it is right. */
export function problemsOf(input: unknown): string[] {
  try {
    checkConfig(input);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}
