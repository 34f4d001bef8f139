import { countedIn } from '../counting.ts';
import type { Words } from '../words.ts';

const counted = countedIn('de');

export const palette: Words['palette'] = {
  title: 'Suchen und springen',
  placeholder: 'Alles durchsuchen oder tippen, wohin es geht',
  results: 'Ergebnisse',
  found: 'Dokumente',
  foundCount: (shown, total) =>
    counted(total, '# Dokument', shown < total ? `${shown} von # Dokumenten` : '# Dokumente'),
  goTo: 'Gehe zu',
  actions: 'Aktionen',
  recent: 'Zuletzt geöffnet',
  create: (singular) => `${singular} anlegen`,
  nothing: 'Nichts gefunden',
  nothingText: 'Die Suche findet ganze Wörter, das letzte auch nach seinem Anfang.',
  searching: 'Suche läuft',
  noSearchThen: 'Durchsuchen lassen sich nur die Dokumente von heute. Geh dafür zurück zu heute.',
  hints: '↑ ↓ wählen · ↵ öffnen · Esc schließen',
  shortcuts: 'Tastenkürzel',
  keys: {
    palette: 'Suchen und springen',
    search: 'Auf dieser Seite suchen',
    help: 'Alle Kürzel',
    go: 'Gehe zu …',
    home: 'Start',
    content: 'Erste Liste',
    media: 'Medien',
    trash: 'Papierkorb',
    me: 'Mein Konto',
    create: 'Neues Dokument',
    move: 'Nächste und vorige Zeile',
    openRow: 'Zeile öffnen',
    selectRow: 'Zeile auswählen',
    save: 'Speichern',
    publish: 'Veröffentlichen',
    preview: 'Vorschau',
    history: 'Verlauf',
    versions: 'Vorige und nächste Fassung',
    close: 'Schließen',
  },
  everywhere: 'Überall',
  inLists: 'In Listen',
  inDocuments: 'In Dokumenten',
  isOn: 'Tastenkürzel verwenden',
  isOnHint: 'Kürzel wirken nie, während du in ein Feld schreibst.',
};
