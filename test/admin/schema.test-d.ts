import type { Feature } from '../../admin/src/pages/document/inputs/rich-text/shape.ts';
import type * as Client from '../../client/index.ts';

// `npm run types` fails if the editor of the application lacks a feature of rich text.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;

export type RichText = Is<Equal<Feature, Client.RichTextFeature>>;
