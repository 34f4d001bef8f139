import { join } from 'node:path';
import { forgetMoved } from '../../../events/vault/vault-rows.ts';
import { removeDatabase, webhooksFile } from '../../../projections/tables/files.ts';
import { withDatabase } from '../../../storage/sqlite.ts';

/**
 * Deletes the passwords, keys, unsaved changes, previews and deliveries of a data directory whose log has moved to
 * PostgreSQL: they have moved with it.
 */
export function forgetFormer(directory: string): void {
  withDatabase(join(directory, 'vault.db'), { durability: 'full', secureDelete: true, cacheMiB: 2 }, forgetMoved);
  removeDatabase(webhooksFile(directory));
}
