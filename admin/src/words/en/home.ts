import { countedIn } from '../counting.ts';

const counted = countedIn('en');

/** Words of the first page after a login. */
export const home = {
  greeting: (name: string) => `Welcome, ${name}`,
  changes: 'Latest changes',
  noChanges: 'Nothing has been changed yet.',
  unsaved: 'My unsaved changes',
  noUnsaved: 'Text that you have typed but not saved is kept here for 30 days.',
  counts: 'Content',
  created: 'created',
  updated: 'changed',
  deleted: 'deleted',
  restored: 'restored',
  erased: 'erased',
  savedDraft: 'saved a draft of',
  discarded: 'discarded unpublished changes of',
  published: 'published',
  unpublished: 'unpublished',
  fields: (names: string) => `: ${names}`,
  missingIndexes: 'Missing indexes',
  missingIndexesText: 'Lists by these fields were slow. An index in the configuration makes them fast.',
  search: 'search',
  slowReads: (count: number, milliseconds: number) =>
    `${counted(count, '# slow read', '# slow reads')}, up to ${milliseconds} ms`,
  firstSteps: 'First steps',
  hide: 'Hide',
  changeSomething: 'Change something',
  changeSomethingText: 'Open a document, change a field, and say why. Nothing you do here is ever lost.',
  seeHistory: 'See its history',
  seeHistoryText: 'Each version shows who changed what, when and why, and can be restored.',
  lookBack: 'Look back',
  lookBackText: 'Choose a day above, and every page shows the content as it was then.',
};
