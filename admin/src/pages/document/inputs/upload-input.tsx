import { RelationshipInput } from './relationship-input.tsx';
import type { InputProps } from './types.ts';

/** The ids of files, as text. */
export function UploadInput(props: InputProps<unknown>) {
  return <RelationshipInput {...props} />;
}
