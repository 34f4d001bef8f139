import type { Collection } from '../../config/model.ts';

/** The types of the members that say how a document is published, by name. No field has such a name. */
export const lineTypes: Readonly<Record<string, string>> = {
  __status: "'published' | 'changed' | 'draft'",
  __review: "'open' | 'refused'",
};

/** These members of an answer, in lines: they are there with `draft`, or if they are selected. */
export function lineMembers({ drafts }: Pick<Collection, 'drafts'>): string[] {
  if (!drafts) return [];
  return [
    `  __status?: ${lineTypes.__status};`,
    '  __publishedAt?: string | null;',
    `  __review?: ${lineTypes.__review} | null;`,
    '  __editors?: string[];',
  ];
}
