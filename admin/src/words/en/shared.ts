import { countedIn } from '../counting.ts';

const counted = countedIn('en');

/** Words of every page. */
export const shared = {
  save: 'Save',
  cancel: 'Cancel',
  close: 'Close',
  delete: 'Delete',
  edit: 'Edit',
  remove: 'Remove',
  copy: 'Copy',
  copied: 'Copied',
  more: 'More',
  tryAgain: 'Try again',
  loading: 'Loading',
  reason: 'Reason',
  reasonHint: 'One line for the history: why?',
  yes: 'Yes',
  no: 'No',
  none: 'None',
  optionalReason: 'Reason (optional)',
  pages: 'Pages',
  previous: 'Previous',
  next: 'Next',
  pageOf: (page: number, pages: number) => `Page ${page} of ${pages}`,
  you: 'You',
  documents: (count: number) => counted(count, '# document', '# documents'),
  actors: { user: 'User', apiKey: 'An API key', system: 'The service', anonymous: 'A visitor' },
};
