import { countedIn } from '../counting.ts';

const counted = countedIn('en');

/** Words of drafts and their publication. */
export const drafts = {
  status: 'Status',
  statuses: { published: 'Published', changed: 'Changed', draft: 'Draft' },
  publishedAt: 'Public since',
  review: 'Review',
  reviews: { open: 'Requested', refused: 'Refused' },
  reviewIs: { open: 'Review requested', refused: 'Review refused' },
  all: 'All',
  filters: { published: 'Published', changed: 'Changed', draft: 'Drafts' },
  filterBy: 'Filter by status',

  saveDraft: 'Save draft',
  createDraft: 'Create draft',
  draftSaved: 'Draft saved',
  draftCreated: 'Draft created',
  publish: 'Publish',
  publishing: 'Publishing…',
  isPublished: 'Published',
  nothingToPublish: 'Everything here is public already',
  more: 'More about publishing',

  publicSince: (day: string) => `Public since ${day}`,
  publicSinceBy: (day: string, name: string) => `Public since ${day}, by ${name}`,
  notPublic: 'Not public',
  changes: (count: number) => counted(count, '# change not published', '# changes not published'),
  wouldPublish: 'Check before publishing',

  changesTitle: 'Changes that are not published',
  wouldPublishTitle: 'To be published',
  noChanges: 'No field differs.',
  field: 'Field',
  publicNow: 'Public now',
  inDraft: 'Draft',
  changedBy: 'Changed by',
  publishThese: 'Publish these',
  unsavedToo: 'Text that you have typed and not saved is not among them.',
  problems: 'This must be mended before it can be published:',
  notPublished: 'It refers to documents that are not public, which readers will not see:',
  overwritten: (field: string, now: string, then: string) =>
    `${field} became “${now}” in the meantime; it was “${then}” when the draft was begun.`,
  nothing: 'nothing',
  overwrites: 'It replaces what has become public since the draft was begun:',

  discardIt: 'Discard changes…',
  discard: 'Discard changes',
  discardTitle: 'Discard the changes that are not published?',
  discardText: 'The draft becomes what is public now. The history keeps what you discard.',
  discarded: 'Changes discarded',
  unpublishIt: 'Unpublish…',
  unpublish: 'Unpublish',
  unpublishTitle: (title: string) => `Unpublish “${title}”?`,
  unpublishText: 'Readers no longer see it. It stays here as a draft, and can be published again.',
  unpublished: 'Unpublished',

  publishChoice: 'Publish this choice',
};
