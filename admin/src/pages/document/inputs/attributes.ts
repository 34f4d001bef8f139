import type { InputProps } from './types.ts';

/** The attributes that every control of the form has: the frame around it shows its label, description and error. */
export function attributesOf({ field, path, id, isDisabled, error, describedBy }: InputProps<unknown>) {
  return {
    id,
    name: path,
    disabled: isDisabled,
    placeholder: field.admin?.placeholder,
    // Without a text, which the frame shows.
    error: error !== undefined,
    'aria-invalid': error !== undefined || undefined,
    'aria-required': field.required,
    // Mantine sets `aria-describedby` for the texts that it renders itself, and drops any other.
    ref: (element: HTMLElement | null) => {
      if (describedBy === undefined) element?.removeAttribute('aria-describedby');
      else element?.setAttribute('aria-describedby', describedBy);
    },
  };
}
