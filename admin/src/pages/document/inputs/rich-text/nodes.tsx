import { Mark, mergeAttributes, Node } from '@tiptap/core';
import { ReactNodeViewRenderer } from '@tiptap/react';
import { Picture } from './picture.tsx';
import { linkOf } from './shape.ts';

const kept = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { default: null, rendered: false }]));

/** A link. An address that is not allowed is kept, but it is not shown as a link. */
export const Link = Mark.create({
  name: 'link',
  priority: 1000,
  inclusive: false,
  addAttributes: () => ({
    href: { default: null, parseHTML: (element: HTMLElement) => linkOf(element.getAttribute('href') ?? '') },
    ...kept('target', 'rel', 'class', 'title', 'collection', 'id'),
  }),
  parseHTML: () => [
    { tag: 'a[href]', getAttrs: (element) => linkOf(element.getAttribute('href') ?? '') !== null && null },
  ],
  renderHTML: ({ mark }) => ['a', { href: linkOf(String(mark.attrs.href ?? '')), rel: 'noreferrer' }, 0],
});

/** A picture: from the library by its id, or by an address. Pictures of other pages are not pasted. */
export const Image = Node.create({
  name: 'image',
  group: 'block',
  draggable: true,
  addAttributes: () => ({
    collection: { default: null, parseHTML: (element: HTMLElement) => element.getAttribute('data-collection') },
    id: { default: null, parseHTML: (element: HTMLElement) => element.getAttribute('data-id') },
    alt: { default: null },
    ...kept('src', 'title'),
  }),
  parseHTML: () => [{ tag: 'span[data-picture]' }],
  renderHTML: ({ node, HTMLAttributes }) => [
    'span',
    mergeAttributes(HTMLAttributes, {
      'data-picture': '',
      'data-collection': node.attrs.collection,
      'data-id': node.attrs.id,
    }),
  ],
  addNodeView: () => ReactNodeViewRenderer(Picture),
});
