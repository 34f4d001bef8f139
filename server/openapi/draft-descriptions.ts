import type { Collection, Global } from '../../config/model.ts';
import { chosen, paragraphs } from './descriptions.ts';

type Target = Collection | Global;

/** `POST /api/collections/<slug>/{id}/publish`, `POST /api/globals/<slug>/publish` */
export function ofPublish(): string {
  return paragraphs(
    'Makes the draft public and returns the public document. Values in `data` are saved in the draft first. With ' +
      '`version` it publishes the draft of that version: the fields in which draft and public document differed then. ' +
      'If nothing differs, nothing is recorded.',
    'A public document must be valid, else 400. With `dryRun` nothing is done, and the answer shows what the ' +
      'publication would change, what is wrong, which linked documents are not public, and which public values it replaces.',
    matchedByDraft,
    'The rule `publish` decides; `data` needs the right to update the draft as well.',
  );
}

/** `POST /api/collections/<slug>/{id}/unpublish` */
export function ofUnpublish(): string {
  return paragraphs(
    'Takes the document out of what is public. Its draft stays, and is the answer.',
    'The rule `publish` decides.',
  );
}

/** `POST /api/collections/<slug>/{id}/discard`, `POST /api/globals/<slug>/discard` */
export function ofDiscard(target: Target): string {
  return paragraphs(
    target.kind === 'global'
      ? 'Makes the draft what is public, and returns it.'
      : 'Makes the draft what is public, and returns it. The draft of an unpublished document becomes what was public last.',
    matchedByDraft,
    'Needs the rights to read and to update the draft.',
  );
}

/** `POST /api/collections/<slug>/bulk/publish`, `…/bulk/unpublish` and `…/bulk/discard` */
export function ofLinesOfMany(kind: 'publish' | 'unpublish' | 'discard'): string {
  const done = {
    publish:
      'Publishes the drafts of up to 1,000 documents, all of them or none. Errors name the document: `ids.3.title`, or ' +
      '`where.<id>.title`.',
    unpublish: 'Takes up to 1,000 documents out of what is public, all of them or none.',
    discard: 'Makes the drafts of up to 1,000 documents what is public, all of them or none.',
  };
  return paragraphs(
    `${done[kind]} The documents are ${chosen}`,
    kind === 'unpublish' ? '' : '`where` is about drafts, so this needs the right to read them.',
  );
}

const matchedByDraft =
  'With `If-Match`, it is done only if the draft has this `ETag`, else it is a 412 that names what has changed.';
