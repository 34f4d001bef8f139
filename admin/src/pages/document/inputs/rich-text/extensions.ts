import { type AnyExtension, type Content, getSchema } from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';
import { holds, withMarksInOrder, withTextsJoined } from './kept.ts';
import { Image, Link } from './nodes.tsx';
import type { Feature } from './shape.ts';

/** The extensions of the editor: text, paragraphs, line breaks, undo, and the given features. */
export function extensionsOf(features: ReadonlySet<Feature>): AnyExtension[] {
  const offUnless = (feature: Feature) => (features.has(feature) ? {} : (false as const));
  const hasList = features.has('bulletList') || features.has('orderedList');
  const kit = StarterKit.configure({
    bold: offUnless('bold'),
    italic: offUnless('italic'),
    underline: offUnless('underline'),
    strike: offUnless('strike'),
    code: offUnless('code'),
    heading: features.has('heading') ? { levels: [1, 2, 3, 4, 5, 6] } : false,
    bulletList: offUnless('bulletList'),
    orderedList: offUnless('orderedList'),
    listItem: hasList ? {} : false,
    listKeymap: hasList ? {} : false,
    blockquote: offUnless('blockquote'),
    codeBlock: offUnless('codeBlock'),
    horizontalRule: offUnless('horizontalRule'),
    // The kit's own link would keep attributes that it adds itself, so `nodes.tsx` has another.
    link: false,
    // A trailing node would change a text that the user only looks at.
    trailingNode: false,
    dropcursor: { color: false, class: 'drop-cursor' },
  });
  return [kit, ...(features.has('link') ? [Link] : []), ...(features.has('image') ? [Image] : [])];
}

/** A document as the editor takes it; null if the editor would not return the whole document. */
export function taken(extensions: AnyExtension[], doc: object): Content | null {
  const schema = getSchema(extensions);
  const ordered = withTextsJoined(withMarksInOrder(doc, (mark) => Object.keys(schema.marks).indexOf(mark)));
  try {
    const node = schema.nodeFromJSON(ordered);
    node.check();
    return holds(node.toJSON(), ordered) ? (ordered as Content) : null;
  } catch {
    return null;
  }
}
