import { type ComponentType, lazy } from 'react';
import type { DataField, FieldType } from '../../../schema/fields.ts';
import { BooleanInput } from '../inputs/boolean-input.tsx';
import { MultiSelectInput, RadioInput, SelectInput } from '../inputs/choice-inputs.tsx';
import { JoinList } from '../inputs/join-list.tsx';
import { JsonInput } from '../inputs/json-input.tsx';
import { NumberInput } from '../inputs/number-input.tsx';
import { TextArea, TextLine } from '../inputs/text-inputs.tsx';
import { TimeInput } from '../inputs/time-inputs.tsx';
import type { InputProps } from '../inputs/types.ts';

type AnyInput = ComponentType<InputProps<unknown>>;

/** The parts with much behind them come when a field of theirs is first shown. */
const RelationshipInput = lazy(async () => ({
  default: (await import('../inputs/relationship/input.tsx')).RelationshipInput as AnyInput,
}));
const UploadInput = lazy(async () => ({
  default: (await import('../inputs/upload/input.tsx')).UploadInput as AnyInput,
}));
const RichTextInput = lazy(async () => ({
  default: (await import('../inputs/rich-text/input.tsx')).RichTextInput as AnyInput,
}));

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
