import type { Model } from '../../../config/model.ts';
import { openPast } from '../../../projections/past/past.ts';
import type { SnapshotBudget } from '../../../projections/past/snapshot-budget.ts';
import { snapshotLimits } from '../../../projections/past/snapshots.ts';
import { registerFunctions } from '../../../projections/query/documents.ts';
import { keepRows } from '../../../projections/query/kept-rows.ts';
import { openAccounts } from '../../../projections/tables/accounts.ts';
import { openApiKeys } from '../../../projections/tables/api-keys.ts';
import { openAuditIndex } from '../../../projections/tables/audit.ts';
import { openReleases } from '../../../projections/tables/releases.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { readCondition } from '../../access/conditions.ts';
import type { App } from '../../app.ts';
import { readUser } from '../../documents/read/populate.ts';
import type { Parts } from '../../platform/parts.ts';
import { openSearchReader } from '../../queries/search-index.ts';
import type { TableState } from '../../reads/kept.ts';
import { joinLongReads } from '../../reads/long-read-queue.ts';
import type { ThreadMetrics } from '../metrics/counting.ts';
import type { ThreadData } from '../thread-data.ts';
import { openTargets, type Targets } from './targets.ts';

/** The members of {@link App} that read the tables which are folded from the log. */
type ReadTables = Targets &
  Pick<
    App,
    | 'search'
    | 'auditIndex'
    | 'past'
    | 'appliedPosition'
    | 'readState'
    | 'readFile'
    | 'longReads'
    | 'accounts'
    | 'userOf'
    | 'readCondition'
    | 'apiKeys'
    | 'releases'
  >;

type Options = {
  model: Model;
  threadData: ThreadData;
  metrics: ThreadMetrics | null;
  snapshotBudget: SnapshotBudget | undefined;
};

/** Opens the read file, and what this thread keeps of it. */
export function openReadTables(parts: Parts, { model, threadData, metrics, snapshotBudget }: Options): ReadTables {
  const { readFile, marks, cacheMiB, readSeconds, search = null } = threadData;
  const site = threadData.site ?? '';
  const db = parts.add(openDatabase(readFile, { readonly: true, cacheMiB: 64 }), (opened) => opened.close());
  registerFunctions(db);
  const rows = keepRows(marks, { most: cacheMiB * 1024 * 1024, isApart: () => db.inTransaction });
  parts.add(rows, ({ close }) => close());
  const targets = openTargets({ db, model, keep: rows.of });
  const past = parts.add(openPast(readFile, snapshotLimits, snapshotBudget), ({ close }) => close());
  const { queue } = parts.add(joinLongReads(snapshotBudget), ({ leave }) => leave(readFile));
  const selectPosition = db.prepare('SELECT position FROM checkpoint').pluck();
  const selectState = db.prepare<[], TableState>(
    'SELECT position, (SELECT count FROM erasures) AS erasures FROM checkpoint',
  );
  return {
    ...targets,
    search: openSearchReader(db, model.schema, search),
    auditIndex: openAuditIndex(db),
    past,
    appliedPosition: () => (selectPosition.get() as number | undefined) ?? 0,
    readState: () => selectState.get() ?? { position: 0, erasures: 0 },
    readFile,
    longReads: { queue, seconds: readSeconds, note: (end) => metrics?.noteRead(site, end) },
    accounts: openAccounts(db),
    userOf: (collection, id) => readUser(targets, collection, id),
    readCondition: (target, condition) => readCondition(targets, target, condition),
    apiKeys: openApiKeys(db),
    releases: openReleases(db),
  };
}
