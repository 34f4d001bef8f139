import type Joi from 'joi';
import { joi } from './joi.ts';
import type { Collection, Global } from './model.ts';

/** The least that a password has, in characters as people count them. */
export const minPasswordCharacters = 8;
/**
 * The most it has, in UTF-8. bcrypt reads no more: what follows would count for nothing, so it is refused and never
 * cut.
 */
export const maxPasswordBytes = 72;

/**
 * The problem of a password, as the end of "must …", without a trace of it; undefined without one. Many a bcrypt ends
 * at a NUL, and halves of surrogate pairs all become the same character.
 */
export function passwordProblem(password: string): string | undefined {
  if (!password.isWellFormed() || password.includes('\0')) return 'not hold NUL characters or lone surrogates';
  // No text of so few UTF-16 units has more bytes; a long one is not counted to its end.
  if (password.length > maxPasswordBytes || Buffer.byteLength(password) > maxPasswordBytes) {
    return `have at most ${maxPasswordBytes} bytes in UTF-8, where letters like "é" take two or more`;
  }
  return [...password].length < minPasswordCharacters ? `have at least ${minPasswordCharacters} characters` : undefined;
}

/** A password that is chosen. The messages of this schema and the next never show what came. */
export function newPassword(): Joi.Schema {
  return secret((password) => passwordProblem(password));
}

/** A text that is to be compared with a secret, of any form. */
export function secret(problem: (text: string) => string | undefined = () => undefined): Joi.Schema {
  // Not `Joi.string`, whose own messages show the value.
  return joi()
    .any()
    .custom((value: unknown, helpers) => {
      const must = typeof value === 'string' ? problem(value) : 'be a text';
      return must === undefined ? value : helpers.error('secret', { must });
    });
}

/** A body as rules may look at it: that there is a password, but not which: rules and hooks must not see it either. */
export function withHiddenPassword({ model }: { model: Collection | Global }, body: unknown): unknown {
  const isAccount = model.kind === 'collection' && model.auth && typeof body === 'object' && body !== null;
  if (!isAccount || !Object.hasOwn(body, 'password')) return body;
  return { ...body, password: true };
}
