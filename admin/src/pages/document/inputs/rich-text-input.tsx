import { JsonInput } from './json-input.tsx';
import type { InputProps } from './types.ts';

/** Rich text, as JSON. */
export function RichTextInput(props: InputProps<unknown>) {
  return <JsonInput {...props} />;
}
