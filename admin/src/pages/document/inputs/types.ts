import type { DataField } from '../../../schema/fields.ts';

/** The properties of every input of the form. */
export type InputProps<Value = unknown> = {
  field: DataField;
  /** The path of the value in the document: `sections.0.title`. */
  path: string;
  /** The id of the control, for its label. */
  id: string;
  /** Read once: to set another value, the form mounts the input anew by its key. */
  defaultValue: Value;
  onChange: (value: Value) => void;
  /** True without the right, at a moment of the past, and for a read-only field. */
  isDisabled: boolean;
  /** Shown by the frame around the input, which only sets `aria-invalid`. */
  error: string | undefined;
  describedBy: string | undefined;
};
