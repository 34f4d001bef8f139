import { countedIn } from '../counting.ts';
import type { Words } from '../words.ts';

const counted = countedIn('de');

export const home: Words['home'] = {
  greeting: (name) => `Willkommen, ${name}`,
  changes: 'Letzte Änderungen',
  noChanges: 'Bisher wurde nichts geändert.',
  unsaved: 'Meine nicht gespeicherten Änderungen',
  noUnsaved: 'Text, den du schreibst und noch nicht speicherst, bleibt hier 30 Tage gesichert.',
  counts: 'Inhalte',
  created: 'angelegt',
  updated: 'geändert',
  deleted: 'gelöscht',
  restored: 'wiederhergestellt',
  erased: 'vernichtet',
  savedDraft: 'als Entwurf gespeichert',
  discarded: 'Entwurf verworfen',
  published: 'veröffentlicht',
  unpublished: 'Veröffentlichung beendet',
  fields: (names) => `: ${names}`,
  missingIndexes: 'Fehlende Indizes',
  missingIndexesText: 'Listen nach diesen Feldern waren langsam. Ein Index in der Konfiguration macht sie schnell.',
  search: 'Suche',
  slowReads: (count, milliseconds) =>
    `${counted(count, '# langsame Abfrage', '# langsame Abfragen')}, bis zu ${milliseconds} ms`,
  firstSteps: 'Erste Schritte',
  hide: 'Ausblenden',
  changeSomething: 'Ändere etwas',
  changeSomethingText: 'Öffne ein Dokument, ändere ein Feld und sag, warum. Hier geht nichts verloren.',
  seeHistory: 'Sieh den Verlauf an',
  seeHistoryText: 'Jede Fassung zeigt, wer was wann und warum geändert hat, und lässt sich wiederherstellen.',
  lookBack: 'Blick zurück',
  lookBackText: 'Wähle oben einen Tag, und jede Seite zeigt die Inhalte, wie sie damals waren.',
};
