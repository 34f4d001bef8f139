import type { Request } from '@hapi/hapi';
import { show } from '../../config/suggest.ts';

/** The type of a change whose members are merged into those that there are (RFC 7396). */
export const mergePatch = 'application/merge-patch+json';

/** Describes a body whose type a route does not take; null for a route that looks at no type. */
export function typeProblem({ route, headers }: Request): string | null {
  const { allow } = route.settings.payload ?? {};
  if (allow === undefined) return null;
  return `the body must be ${[allow].flat().join(' or ')}, got content-type ${show(headers['content-type'])}`;
}
