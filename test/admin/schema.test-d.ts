import type { Feature } from '../../admin/src/pages/document/inputs/rich-text/shape.ts';
import type { Field, FieldType } from '../../admin/src/schema/fields.ts';
import type * as Client from '../../client/index.ts';
import type { AdminConfig } from '../../config/define-admin.ts';
import type { FieldType as DeclaredType } from '../../config/field-types.ts';
import type { CollectionAdmin, GlobalAdmin, RichTextFeature } from '../../config/schema.ts';
import type { ShownField } from '../../server/documents/schema-answers.ts';

// The application is built by itself and takes nothing from the service, so it declares what `/api/schemas` says of
// fields again. `npm run types` fails where one of them knows something that the other does not.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;
type Whole<T> = { [Key in keyof T]: T[Key] };

type Hints = NonNullable<Field['admin']>;
type Block = NonNullable<Field['blocks']>[number];
type ShownBlock = NonNullable<ShownField['blocks']>[number];

/** Options whose values the application takes as they come, or that hold fields themselves. */
type Open = 'type' | 'defaultValue' | 'admin' | 'richText' | 'fields' | 'blocks';

export type Fields = [
  Is<Equal<FieldType, DeclaredType>>,
  // The service alone uses the former name of a field.
  Is<Equal<keyof Field, Exclude<keyof ShownField, 'renamedFrom'>>>,
  Is<Equal<Whole<Omit<Field, Open>>, Whole<Omit<ShownField, Open | 'renamedFrom'>>>>,
  Is<Equal<keyof Block, keyof ShownBlock>>,
];

export type FieldHints = [
  Is<Equal<keyof Hints, keyof AdminConfig>>,
  Is<Equal<Whole<Omit<Hints, 'condition'>>, Whole<Omit<AdminConfig, 'condition'>>>>,
];

export type OtherHints = [
  Is<Equal<Whole<Client.CollectionAdmin>, Whole<CollectionAdmin>>>,
  Is<Equal<Client.GlobalAdmin, GlobalAdmin>>,
];

export type RichText = Is<Equal<Feature, RichTextFeature>>;
