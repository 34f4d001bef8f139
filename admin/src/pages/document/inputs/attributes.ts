import type { InputProps } from './types.ts';

/** The attributes that every control of the form has: the frame around it shows its label, description and error. */
export function attributesOf({ field, path, id, isDisabled, error, describedBy }: InputProps<unknown>) {
  return {
    id,
    name: path,
    disabled: isDisabled,
    placeholder: field.admin?.placeholder,
    // Without a text: the frame has it.
    error: error !== undefined,
    'aria-invalid': error !== undefined || undefined,
    'aria-describedby': describedBy,
    'aria-required': field.required,
  };
}
