import { countedIn } from '../counting.ts';

const counted = countedIn('en');

/** Words of the search over everything, and of the keyboard. */
export const palette = {
  title: 'Search and go',
  placeholder: 'Search everything, or type where to go',
  results: 'Results',
  found: 'Documents',
  foundCount: (shown: number, total: number) =>
    counted(total, '# document', shown < total ? `${shown} of # documents` : '# documents'),
  goTo: 'Go to',
  actions: 'Actions',
  recent: 'Recent',
  create: (singular: string) => `New ${singular}`,
  nothing: 'Nothing found',
  nothingText: 'The search finds whole words, and the last word also by its beginning.',
  searching: 'Searching',
  noSearchThen: 'Only the documents of today can be searched. Go back to now to search them.',
  hints: '↑ ↓ choose · ↵ open · Esc close',
  shortcuts: 'Keyboard shortcuts',
  keys: {
    palette: 'Search and go',
    search: 'Search this page',
    help: 'All shortcuts',
    go: 'Go to …',
    home: 'Home',
    content: 'The first list',
    media: 'Media',
    trash: 'Trash',
    me: 'My account',
    create: 'New document',
    move: 'Next and previous row',
    openRow: 'Open the row',
    selectRow: 'Select the row',
    save: 'Save',
    publish: 'Publish',
    preview: 'Preview',
    history: 'History',
    versions: 'Previous and next version',
    close: 'Close',
  },
  everywhere: 'Everywhere',
  inLists: 'In lists',
  inDocuments: 'In documents',
  isOn: 'Use keyboard shortcuts',
  isOnHint: 'Shortcuts never act while you type in a field.',
};
