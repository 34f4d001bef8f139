import { hash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { inHeader, invalidField } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';

/**
 * The text between the quotes of an `ETag`: the version of the document, and a suffix for the way in which it is shown.
 */
export type Tag = string;

/** The tag of an answer that is the same for everybody: `shape` changes if documents are shown with other fields. */
export function plainTag(version: number, shape: string): Tag {
  return `${version}-${shape}`;
}

/** The tag of an answer that depends on more than its document: on the caller, on hooks or on other documents. */
export function textTag(version: number, text: string): Tag {
  return `${version}-${hash('sha256', text, 'base64url').slice(0, 16)}`;
}

/** Stands behind the version in the tag of a draft, which may differ from the public document of this version. */
const draftMark = 'draft-';

/** The tag of a draft, from the tag that the same answer would have as a public document. */
export function draftTag(tag: Tag): Tag {
  return tag.replace('-', `-${draftMark}`);
}

/** A version that a write is meant for, and whether it is of a draft. */
export type ExpectedState = { version: number; isDraft: boolean };

/** As {@link expectedVersions}, with the lines that the tags are of. */
export function expectedStates(request: Request): '*' | ExpectedState[] | null {
  const tags = expectedTags(request);
  if (tags === null || tags === '*') return tags;
  return tags.flatMap((tag) => {
    const [, version, rest = ''] = /^(\d+)-(.*)$/.exec(tag) ?? [];
    return version === undefined ? [] : [{ version: Number(version), isDraft: rest.startsWith(draftMark) }];
  });
}

/** The versions that a write is meant for: any, or the versions of these tags. */
type ExpectedVersions = '*' | ReadonlySet<number>;

/** RFC 9110, section 8.8.3. */
const entityTag = /[ \t]*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)/y;

/**
 * Reads `If-Match`; null without this header. Of a tag only the version counts: proxies that compress mark tags, or
 * make them weak.
 *
 * @throws DomainError `validation_failed` for a value that is not a list of entity tags.
 */
export function expectedVersions(request: Request): ExpectedVersions | null {
  const tags = expectedTags(request);
  if (tags === null || tags === '*') return tags;
  const versions = tags.map((tag) => /^(\d+)-/.exec(tag)?.[1]).filter((version) => version !== undefined);
  return new Set(versions.map(Number));
}

/**
 * Reads `If-Match` for an answer that has no version: the tags without the marks of compression; null without the
 * header.
 *
 * @throws DomainError `invalid` for a value that is not a list of entity tags.
 */
export function expectedTags({ headers }: Request): '*' | Tag[] | null {
  const given: unknown = headers['if-match'];
  if (given === undefined) return null;
  const value = String(given).trim();
  if (value === '*') return '*';
  const tags: Tag[] = [];
  for (let at = 0; at < value.length || at === 0; at = entityTag.lastIndex) {
    entityTag.lastIndex = at;
    const found = entityTag.exec(value);
    if (!found) {
      throw invalidField(
        inHeader('if-match', 'format'),
        `must be * or ETags in double quotes, separated by commas, got ${show(value)}`,
      );
    }
    tags.push((found[1] ?? '').replace(/-(?:gzip|deflate|br|zstd)$/, ''));
  }
  return tags;
}
