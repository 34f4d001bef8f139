import type { Field } from './model.ts';
import { withParts } from './nesting.ts';

/** The fields that were relaxed, by what was made of them. */
const originals = new WeakMap<Field, Field>();

/**
 * The fields as a draft has to hold them, at any depth. A draft may lack values, and its values may be too short, out
 * of range, or of the wrong form; they must still have the right types, and fit their options and maximum lengths.
 */
export function relaxed(fields: readonly Field[]): Field[] {
  return fields.map((field) => {
    const { required, minLength, min, max, integer, pattern, ...kept } = field;
    const type = field.type === 'email' || field.type === 'url' ? 'text' : field.type;
    const made: Field = { ...kept, type, ...withParts(field, relaxed) };
    originals.set(made, field);
    return made;
  });
}

/** The field of the configuration that a relaxed field was made of; any other field itself. */
export function originalOf(field: Field): Field {
  return originals.get(field) ?? field;
}
