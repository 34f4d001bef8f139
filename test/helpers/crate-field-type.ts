import { type FieldType, typeFacts } from '../../config/field-types.ts';

// Loaded before a service (`NODE_OPTIONS=--import …`), in its threads too, this module adds a type of field in the
// first two places of the list in CONTRIBUTING.md, and in no other.

/** The environment of a service that knows the type `crate`, which nests as `blocks` does. */
export const withCrate = { NODE_OPTIONS: `--import=${import.meta.url}`, ADD_CRATE: '1' };

if (process.env.ADD_CRATE) {
  const { fieldTypeNames, fieldTypes } = await import('../../config/fields.ts');
  Object.assign(typeFacts, { crate: { column: null, isList: true, inside: 'blocks' } });
  Object.assign(fieldTypes, { crate: fieldTypes.blocks });
  fieldTypeNames.push('crate' as FieldType);
}
