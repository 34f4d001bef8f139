import { countedIn } from '../counting.ts';

const counted = countedIn('en');

/** Words of the trash. */
export const trash = {
  about: 'Deleted documents that you may restore. Restoring adds a version; the history stays.',
  aboutThen: 'Documents that were deleted at that time. Go back to now to restore one.',
  collection: 'Collection',
  allCollections: 'All collections',
  document: 'Document',
  deletedAt: 'Deleted',
  by: 'By',
  why: 'Why',
  restore: 'Restore',
  restoreTitle: (title: string) => `Restore ${title}`,
  hidden: 'not shown: your account may not see the contents of the history',
  hiddenActor: 'not shown: your account may not see who acted',
  noReason: 'no reason given',
  noTitle: (singular: string) => `${singular} (you may not see its title)`,
  empty: 'The trash is empty',
  emptyText: 'Deleted documents can be restored from here.',
  looking: 'Checking what comes back…',
  comesBack: 'Comes back',
  fields: (count: number) => counted(count, '# field with a value', '# fields with a value'),
  dangling: 'Points at documents that are gone',
  conflicts: 'Cannot come back: the value now belongs to another document',
  taken: (field: string) => `${field} is taken`,
  openTaken: 'Open that document',
  asDraft: 'It comes back as a draft, which is not public until it is published.',
  restored: (title: string) => `${title} is back`,
};
