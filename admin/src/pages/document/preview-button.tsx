import type { Values } from './form/values.ts';
import type { Subject } from './save/subject.ts';

type Props = { subject: Subject /** What stands in the form, saved or not. */; values: () => Values };

/** Shows what stands in the form on the site. To be built. */
export function PreviewButton(_: Props) {
  return null;
}
