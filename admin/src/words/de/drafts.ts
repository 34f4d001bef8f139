import { countedIn } from '../counting.ts';
import type { Words } from '../words.ts';

const counted = countedIn('de');

export const drafts: Words['drafts'] = {
  status: 'Status',
  statuses: { published: 'Veröffentlicht', changed: 'Geändert', draft: 'Entwurf' },
  publishedAt: 'Öffentlich seit',
  review: 'Prüfung',
  reviews: { open: 'Erbeten', refused: 'Abgelehnt' },
  reviewIs: { open: 'Prüfung erbeten', refused: 'Prüfung abgelehnt' },
  all: 'Alle',
  filters: { published: 'Veröffentlicht', changed: 'Geändert', draft: 'Entwürfe' },
  filterBy: 'Nach Status filtern',

  saveDraft: 'Entwurf speichern',
  createDraft: 'Entwurf anlegen',
  draftSaved: 'Entwurf gespeichert',
  draftCreated: 'Entwurf angelegt',
  publish: 'Veröffentlichen',
  publishing: 'Wird veröffentlicht …',
  isPublished: 'Veröffentlicht',
  nothingToPublish: 'Hier ist schon alles öffentlich',
  more: 'Mehr zum Veröffentlichen',

  publicSince: (day) => `Öffentlich seit ${day}`,
  publicSinceBy: (day, name) => `Öffentlich seit ${day}, von ${name}`,
  notPublic: 'Nicht öffentlich',
  changes: (count) => counted(count, '# Änderung nicht veröffentlicht', '# Änderungen nicht veröffentlicht'),
  wouldPublish: 'Vor dem Veröffentlichen prüfen',

  changesTitle: 'Änderungen, die nicht veröffentlicht sind',
  wouldPublishTitle: 'Wird veröffentlicht',
  noChanges: 'Kein Feld unterscheidet sich.',
  field: 'Feld',
  publicNow: 'Jetzt öffentlich',
  inDraft: 'Entwurf',
  changedBy: 'Geändert von',
  publishThese: 'Diese veröffentlichen',
  unsavedToo: 'Was du getippt und nicht gespeichert hast, gehört nicht dazu.',
  problems: 'Das muss stimmen, bevor es veröffentlicht werden kann:',
  notPublished: 'Es verweist auf Dokumente, die nicht öffentlich sind und die Leser nicht sehen:',
  overwritten: (field, now, then) => `${field} wurde inzwischen „${now}“; als der Entwurf begann, war es „${then}“.`,
  nothing: 'nichts',
  overwrites: 'Es ersetzt, was öffentlich wurde, seit der Entwurf begann:',

  discardIt: 'Änderungen verwerfen …',
  discard: 'Änderungen verwerfen',
  discardTitle: 'Die Änderungen verwerfen, die nicht veröffentlicht sind?',
  discardText: 'Der Entwurf wird zu dem, was jetzt öffentlich ist. Der Verlauf behält, was du verwirfst.',
  discarded: 'Änderungen verworfen',
  unpublishIt: 'Zurückziehen …',
  unpublish: 'Zurückziehen',
  unpublishTitle: (title) => `„${title}“ zurückziehen?`,
  unpublishText: 'Leser sehen es nicht mehr. Es bleibt hier als Entwurf und kann wieder veröffentlicht werden.',
  unpublished: 'Zurückgezogen',

  publishChoice: 'Diese Auswahl veröffentlichen',
};
