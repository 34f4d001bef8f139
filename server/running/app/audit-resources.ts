import { batches } from '../../audit/batches/routes.ts';
import { erasures } from '../../audit/erasure/routes.ts';
import { exports } from '../../audit/exports/routes.ts';
import { feed } from '../../audit/feed-routes.ts';
import { history } from '../../audit/history-routes.ts';
import { proofs } from '../../audit/proof-routes.ts';
import { undoing } from '../../audit/undo/routes.ts';
import type { Resource } from './resource.ts';

/** The routes about history, proofs, exports and erasures. */
export const auditResources: readonly Resource[] = [exports, proofs, history, feed, erasures, batches, undoing];
