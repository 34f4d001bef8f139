/** A piece of an excerpt, and whether it is a match. */
export type Piece = { text: string; isMarked: boolean };

const entities: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#x27;': "'",
};

/** Splits the excerpt of a search: escaped text with `<mark>` around the matches. Any other tag stays text. */
export function piecesOf(excerpt: string): Piece[] {
  let isMarked = false;
  const pieces: Piece[] = [];
  for (const part of excerpt.split(/(<\/?mark>)/)) {
    if (part === '<mark>') isMarked = true;
    else if (part === '</mark>') isMarked = false;
    else if (part !== '') pieces.push({ text: unescaped(part), isMarked });
  }
  return pieces;
}

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => entities[entity] ?? entity);
}
