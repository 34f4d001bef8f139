import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { noRoute } from '../../http/requests.ts';

/** The paths that routes had before, each with the path of today. No path depends on content, so anyone may know it. */
const moved: readonly [former: RegExp, today: string][] = [
  [/^\/api\/audit\/keys$/, '/api/audit/signing-keys'],
  [/^\/api\/audit\/batches\/([^/]{1,100})\/undo$/, '/api/batches/$1/undo'],
];

/** The refusal of a path whose route has another path today; null if it never had a route. */
export function movedPath(request: Request): DomainError | null {
  const found = moved.find(([former]) => former.test(request.path));
  if (!found) return null;
  const today = `${request.method.toUpperCase()} ${request.path.replace(...found)}`;
  return new DomainError('route_not_found', `${noRoute(request).message}: it is ${today} now`);
}
