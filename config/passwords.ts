import type Joi from 'joi';
import type { Problem } from './errors.ts';
import { mustError } from './invalid-body.ts';
import { joi } from './joi.ts';
import type { Collection, Global } from './model.ts';

/** The minimum length of a password, in Unicode characters. */
export const minPasswordCharacters = 8;
/**
 * The maximum length of a password, in bytes of UTF-8. bcrypt ignores further bytes, so a longer password is refused,
 * never cut.
 */
export const maxPasswordBytes = 72;

/**
 * The problem of a password, as the end of "must …"; undefined for a valid one. The text shows nothing of the password.
 * NUL is refused because many implementations of bcrypt end there, and lone surrogates because they all become the same
 * character.
 */
export function passwordProblem(password: string): Problem | undefined {
  if (!password.isWellFormed() || password.includes('\0'))
    return { code: 'unsafe_characters', problem: 'not hold NUL characters or lone surrogates' };
  // A text with more UTF-16 units also has more bytes, so the bytes of a long text are not counted.
  if (password.length > maxPasswordBytes || Buffer.byteLength(password) > maxPasswordBytes) {
    const problem = `have at most ${maxPasswordBytes} bytes in UTF-8, where letters like "é" take two or more`;
    return { code: 'max_length', problem, limit: maxPasswordBytes };
  }
  if ([...password].length >= minPasswordCharacters) return undefined;
  return {
    code: 'min_length',
    problem: `have at least ${minPasswordCharacters} characters`,
    limit: minPasswordCharacters,
  };
}

/** The schema of a new password. The messages of this schema and the next never show the value. */
export function newPassword(): Joi.Schema {
  return secret((password) => passwordProblem(password));
}

/** The schema of a text of any form that will be compared with a secret. */
export function secret(problem: (text: string) => Problem | undefined = () => undefined): Joi.Schema {
  // Not `Joi.string`, whose own messages show the value.
  return joi()
    .any()
    .custom((value: unknown, helpers) => {
      const wrong: Problem | undefined =
        typeof value === 'string' ? problem(value) : { code: 'type', problem: 'be a text' };
      return wrong === undefined ? value : mustError(helpers, wrong, 'secret');
    });
}

/** A body as rules may see it. Rules and hooks may know that there is a password, but never see it. */
export function withHiddenPassword({ model }: { model: Collection | Global }, body: unknown): unknown {
  const isAccount = model.kind === 'collection' && model.auth && typeof body === 'object' && body !== null;
  if (!isAccount || !Object.hasOwn(body, 'password')) return body;
  return { ...body, password: true };
}
