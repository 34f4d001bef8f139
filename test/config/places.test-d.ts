import type { Plain } from '../../client/types/fields.ts';
import type { ListFilter, OrderFilter, TextFilter } from '../../client/types/paths.ts';
import type { FieldConfig } from '../../config/define.ts';
import type { FieldType } from '../../config/field-types.ts';
import type { Operator } from '../../config/operators.ts';

// `npm run types` fails here if a type of field or an operator is added to its list in config/ and not to the types of
// authors and of the client.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;

/** The types whose values follow from options: client/types/ has a case for each. */
type OfOptions = 'select' | 'radio' | 'multiSelect' | 'relationship' | 'upload' | 'join';
type OfJson = 'json' | 'richText';
type OfParts = 'object' | 'array' | 'blocks' | 'row';

export type FieldTypes = {
  /** config/define-fields.ts */
  ofAuthors: Is<Equal<FieldConfig['type'], FieldType>>;
  /** client/types/fields.ts, documents.ts, inputs.ts, paths.ts */
  ofClients: Is<Equal<keyof Plain | OfOptions | OfJson | OfParts, FieldType>>;
};

/** client/types/paths.ts */
export type Operators = Is<Equal<keyof (OrderFilter<unknown> & TextFilter & ListFilter<unknown>), Operator>>;
