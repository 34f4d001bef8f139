import type { LineTarget } from '../../../events/facts/line-decisions.ts';
import type { Target } from '../../app.ts';
import type { Write } from '../write/write-steps.ts';

/** A target as decisions on lines see it. */
export function targetOfLines({ category, unique, model }: Target): LineTarget {
  return { category, unique, isGlobal: model.kind === 'global' };
}

/** Whether a write is about the draft. */
export function isDraftWrite({ lines }: Pick<Write, 'lines'>): boolean {
  return lines?.addressed === 'draft';
}
