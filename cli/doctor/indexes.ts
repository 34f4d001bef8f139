import type { Model } from '../../config/model.ts';
import { stillMissing } from '../../server/reads/missing-index.ts';
import { adviceOnMissing, readMissingList } from '../../server/reads/missing-list.ts';
import { type DoctorFinding, note, ok } from './findings.ts';

/** More of them say no more. */
const mostTold = 10;

/**
 * Names the indexes for want of which reads were slow in the last weeks.
 *
 * @param model null if the configuration cannot be loaded.
 */
export function checkIndexes(directory: string, model: Model | null): DoctorFinding[] {
  const listed = readMissingList(directory, Date.now());
  const missing = model ? stillMissing(listed, model.schema) : listed;
  if (missing.length === 0) return [ok('indexes', 'no read took long for want of one')];
  return missing.slice(0, mostTold).map((one) => note('indexes', adviceOnMissing(one)));
}
