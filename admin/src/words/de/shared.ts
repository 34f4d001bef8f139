import { countedIn } from '../counting.ts';
import type { Words } from '../words.ts';

const counted = countedIn('de');

export const shared: Words['shared'] = {
  save: 'Speichern',
  cancel: 'Abbrechen',
  close: 'Schließen',
  delete: 'Löschen',
  edit: 'Bearbeiten',
  remove: 'Entfernen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  more: 'Mehr',
  tryAgain: 'Erneut versuchen',
  loading: 'Wird geladen',
  reason: 'Grund',
  reasonHint: 'Eine Zeile für den Verlauf: warum?',
  yes: 'Ja',
  no: 'Nein',
  none: 'Keine',
  optionalReason: 'Grund (optional)',
  pages: 'Seiten',
  previous: 'Zurück',
  next: 'Weiter',
  pageOf: (page, pages) => `Seite ${page} von ${pages}`,
  you: 'Du',
  documents: (count) => counted(count, '# Dokument', '# Dokumente'),
  actors: { user: 'Konto', apiKey: 'Ein API-Schlüssel', system: 'Der Dienst', anonymous: 'Ein Besucher' },
};
