import { bulk } from '../../documents/bulk/routes.ts';
import { collections } from '../../documents/collections.ts';
import { counts } from '../../documents/counts.ts';
import { globals } from '../../documents/globals.ts';
import { groups } from '../../documents/groups/routes.ts';
import { media } from '../../documents/media/routes.ts';
import { preview } from '../../documents/preview/routes.ts';
import { references } from '../../documents/references/routes.ts';
import { releases } from '../../documents/releases/routes.ts';
import { reviews } from '../../documents/reviews/routes.ts';
import { schemas } from '../../documents/schemas.ts';
import { search } from '../../documents/search/routes.ts';
import { trash } from '../../documents/trash/routes.ts';
import { unsavedChanges } from '../../documents/unsaved-changes/routes.ts';
import type { Resource } from './resource.ts';

/** The routes that read and write documents and globals. */
export const documentResources: readonly Resource[] = [
  collections,
  groups,
  counts,
  bulk,
  references,
  trash,
  globals,
  media,
  releases,
];

/** The routes for those who edit documents: previews, unsaved changes, fields, search. */
export const editingResources: readonly Resource[] = [preview, unsavedChanges, schemas, search, reviews];
