import type { DataField } from '../../../schema/fields.ts';

/** The properties of every input of the form. */
export type InputProps<Value = unknown> = {
  field: DataField;
  /** Where the value is in the document: `sections.0.title`. */
  path: string;
  /** The id of the control, for its label. */
  id: string;
  /** Read once: the form makes the input anew, by its key, to set another value. */
  defaultValue: Value;
  onChange: (value: Value) => void;
  /** No right, a moment of the past, or a read-only field. */
  isDisabled: boolean;
  /** Shown by the frame around the input, which only sets `aria-invalid`. */
  error: string | undefined;
  describedBy: string | undefined;
};
