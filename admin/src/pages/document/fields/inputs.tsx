import type { ComponentType } from 'react';
import type { FieldType } from '../../../../../client/index.ts';
import { deferred } from '../../../parts/deferred.tsx';
import type { DataField } from '../../../schema/fields.ts';
import { BooleanInput } from '../inputs/boolean-input.tsx';
import { MultiSelectInput, RadioInput, SelectInput } from '../inputs/choice-inputs.tsx';
import { JoinList } from '../inputs/join-list.tsx';
import { JsonInput } from '../inputs/json-input.tsx';
import { NumberInput } from '../inputs/number-input.tsx';
import { TextArea, TextLine } from '../inputs/text-inputs.tsx';
import { TimeInput } from '../inputs/time-inputs.tsx';
import type { InputProps } from '../inputs/types.ts';
import styles from './fields.module.css';

type AnyInput = ComponentType<InputProps<unknown>>;

const coming = <div className={styles.coming} />;

/** Large inputs are loaded when a field of their type is first shown. */
const RelationshipInput: AnyInput = deferred(
  async () => (await import('../inputs/relationship/input.tsx')).RelationshipInput as AnyInput,
  coming,
);
const UploadInput: AnyInput = deferred(
  async () => (await import('../inputs/upload/input.tsx')).UploadInput as AnyInput,
  coming,
);
const RichTextInput: AnyInput = deferred(
  async () => (await import('../inputs/rich-text/input.tsx')).RichTextInput as AnyInput,
  coming,
);

const inputs: Record<Exclude<FieldType, 'row' | 'object' | 'array' | 'blocks'>, AnyInput> = {
  text: TextLine,
  email: TextLine,
  url: TextLine,
  textarea: TextArea,
  richText: RichTextInput,
  number: NumberInput,
  boolean: BooleanInput,
  date: TimeInput,
  datetime: TimeInput,
  time: TimeInput,
  select: SelectInput,
  radio: RadioInput,
  multiSelect: MultiSelectInput,
  relationship: RelationshipInput,
  upload: UploadInput,
  json: JsonInput,
  join: JoinList,
};

/** The input of a field. A type that this application does not know is shown as JSON. */
export function inputOf({ type }: DataField): AnyInput {
  return inputs[type as keyof typeof inputs] ?? JsonInput;
}
