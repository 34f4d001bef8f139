import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import type { ReleaseItem } from '../../../events/facts/releases.ts';
import { livingStates, type ReleaseRecord } from '../../../projections/tables/releases.ts';
import type { RouteCall } from '../../app.ts';
import { expectedVersions, plainTag } from '../concurrency/etags.ts';

export type FoundRelease = ReleaseRecord & { items: ReleaseItem[] };

/** A release with its items. @throws DomainError `not_found`. */
export function releaseOf({ app }: RouteCall, id: string): FoundRelease {
  const release = app.releases.find(id);
  if (!release) throw new DomainError('not_found', `there is no release ${show(id)}`);
  return release;
}

/** A release that can be changed. @throws DomainError `not_found`; `conflict` if it is published or archived. */
export function livingOf(call: RouteCall, id: string): FoundRelease {
  const release = releaseOf(call, id);
  if (livingStates.includes(release.state)) return release;
  throw new DomainError('conflict', `the release is ${release.state}: it cannot be changed any more`);
}

/** The tag of a release. */
export function tagOf({ version }: Pick<ReleaseRecord, 'version'>): string {
  return plainTag(version, 'release');
}

/** @throws DomainError `stale` if the `If-Match` of a request does not name the version of the release. */
export function requireReleaseVersion(request: Request, version: number): void {
  const expected = expectedVersions(request);
  if (expected === null || expected === '*' || expected.has(version)) return;
  const message = `the release has changed: it is at version ${version}, which if-match does not name`;
  throw new DomainError('stale', message, [], null, { version, etag: `"${tagOf({ version })}"` });
}
