import { countedIn } from '../counting.ts';
import type { Words } from '../words.ts';

const counted = countedIn('de');

export const trash: Words['trash'] = {
  about: 'Gelöschte Dokumente, die du wiederherstellen darfst. Das gibt eine weitere Fassung; der Verlauf bleibt.',
  aboutThen: 'Dokumente, die zu dieser Zeit gelöscht waren. Geh zurück zu heute, um eines wiederherzustellen.',
  collection: 'Sammlung',
  allCollections: 'Alle Sammlungen',
  document: 'Dokument',
  deletedAt: 'Gelöscht',
  by: 'Von',
  why: 'Warum',
  restore: 'Wiederherstellen',
  restoreTitle: (title) => `${title} wiederherstellen`,
  hidden: 'nicht zu sehen: Dein Konto darf die Inhalte des Verlaufs nicht sehen',
  hiddenActor: 'nicht zu sehen: Dein Konto darf nicht sehen, wer es war',
  noReason: 'ohne Grund',
  noTitle: (singular) => `${singular} (den Titel darfst du nicht sehen)`,
  empty: 'Der Papierkorb ist leer',
  emptyText: 'Gelöschte Dokumente lassen sich hier wiederherstellen.',
  looking: 'Prüft, was zurückkommt …',
  comesBack: 'Kommt zurück',
  fields: (count) => counted(count, '# Feld mit Wert', '# Felder mit Wert'),
  dangling: 'Zeigt auf Dokumente, die nicht mehr da sind',
  conflicts: 'Kann nicht zurück: Der Wert gehört inzwischen einem anderen Dokument',
  taken: (field) => `${field} ist vergeben`,
  openTaken: 'Dieses Dokument öffnen',
  asDraft: 'Es kommt als Entwurf zurück und ist erst öffentlich, wenn es veröffentlicht wird.',
  restored: (title) => `${title} ist wieder da`,
};
