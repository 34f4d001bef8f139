import type { Json } from '../../config/schema.ts';
import type { ApiSchema } from './fields.ts';

type Part = Record<string, Json>;
type Parts = Record<string, Part>;
type Operation = { operationId: string; parameters?: Part[]; responses: ApiSchema };

/** The parts of a document that are shared here. */
type Shared = {
  paths: { [path: string]: { [method: string]: Operation } };
  components: Record<string, ApiSchema | Parts>;
};

type Kind = 'responses' | 'parameters' | 'headers';

/** A place in the document with a part of this kind: the words that may name the part, and how it is replaced. */
type Place = { part: Part; base: string; operation: string; replace: (part: Part) => void };

/** The parts of one content, and the names that they may get. */
type Group = { part: Part; text: string; base: string; operation: string; places: Place[] };

/** The names of the answers with a status; a successful one is called after its schema. */
const namesOfStatus: Record<string, string> = {
  200: 'Ok',
  201: 'Created',
  202: 'Accepted',
  204: 'NoContent',
  206: 'Partial',
  304: 'NotModified',
  400: 'Invalid',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'TimedOut',
  409: 'Conflict',
  412: 'Stale',
  413: 'TooLarge',
  415: 'OtherType',
  416: 'OutOfRange',
  422: 'KeyReused',
  428: 'Unconditional',
  429: 'TooMany',
  500: 'Failed',
  503: 'Unavailable',
  default: 'Refused',
};

/**
 * Writes each answer, parameter and header that a document has more than once only once, in its `components`, and a
 * `$ref` in every other place: without this, most of a document are the same refusals at each operation. Names follow
 * from the meaning, `NotFound`, `Limit`, `collections.posts.where`. Of several parts with one meaning, the most
 * frequent part has the plain name, the others end in the operation that has them first: `NotFound.readDraft`. The
 * result depends on the document alone.
 */
export function shareParts<D extends Shared>(document: D): D {
  const copy = structuredClone(document);
  const operations = Object.values(copy.paths).flatMap((methods) => Object.values(methods));
  const responses = share('responses', operations.flatMap(responsesIn));
  const parameters = share('parameters', operations.flatMap(parametersIn));
  // Headers of shared answers count once.
  const left = [
    ...Object.entries(responses).map(([name, part]) => ({ part, operation: name })),
    ...operations.flatMap((operation) =>
      Object.values(operation.responses).map((part) => ({ part: part as Part, operation: kindOf(operation) })),
    ),
  ];
  const headers = share('headers', left.flatMap(headersIn));
  Object.assign(copy.components, withoutEmpty({ responses, parameters, headers }));
  return copy;
}

function responsesIn(operation: Operation): Place[] {
  return Object.entries(operation.responses).map(([status, response]) => ({
    part: response as Part,
    base: nameOfResponse(status, response as Part),
    operation: kindOf(operation),
    replace: (part) => {
      operation.responses[status] = part;
    },
  }));
}

function nameOfResponse(status: string, response: Part): string {
  const [, schema] = /"\$ref":"#\/components\/schemas\/([^"]+)"/.exec(JSON.stringify(response.content ?? null)) ?? [];
  return (/^20/.test(status) ? schema : undefined) ?? namesOfStatus[status] ?? `Status${status}`;
}

function parametersIn(operation: Operation): Place[] {
  return (operation.parameters ?? []).map((parameter, index, all) => ({
    part: parameter,
    base: nameOfParameter(parameter),
    operation: kindOf(operation),
    replace: (part) => {
      all[index] = part;
    },
  }));
}

/** A filter is called after its schema, because each collection has its own. */
function nameOfParameter(parameter: Part): string {
  const [, schema] = /"\$ref":"#\/components\/schemas\/([^"]+)"/.exec(JSON.stringify(parameter.schema ?? null)) ?? [];
  return schema ?? capitalized(String(parameter.name));
}

function headersIn({ part: response, operation }: { part: Part; operation: string }): Place[] {
  const headers = (response.headers ?? {}) as Parts;
  return Object.entries(headers).map(([name, header]) => ({
    part: header,
    base: capitalized(name),
    operation,
    replace: (part) => {
      headers[name] = part;
    },
  }));
}

/** `if-match` as `IfMatch`. */
function capitalized(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase());
}

/** The operation without the collection that it is of: `list` for `list_posts`. */
function kindOf({ operationId }: Operation): string {
  return operationId.replace(/^audit_/, '').replace(/_.*$/, '');
}

/** Replaces the parts that occur more than once, and returns them by their names. */
function share(kind: Kind, places: readonly Place[]): Parts {
  const groups = new Map<string, Group>();
  for (const place of places) {
    if (place.part.$ref) continue;
    const text = JSON.stringify([place.base, place.part]);
    const group = groups.get(text) ?? { ...place, text, places: [] };
    group.places.push(place);
    groups.set(text, group);
  }
  const several = [...groups.values()].filter(({ places: its }) => its.length > 1);
  // The order of equals is that of the document.
  several.sort((one, other) => other.places.length - one.places.length);
  const named: Parts = {};
  for (const group of several) {
    const name = nameIn(named, group);
    named[name] = group.part;
    for (const { replace } of group.places) replace({ $ref: `#/components/${kind}/${name}` });
  }
  return Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The first of the names of a group that no other has. */
function nameIn(named: Parts, { base, operation }: Group): string {
  const plain = base.replace(/[^A-Za-z0-9._-]/g, '_');
  const names = [plain, `${plain}.${operation}`];
  for (let number = 2; ; number += 1) {
    const free = names.find((name) => !Object.hasOwn(named, name));
    if (free !== undefined) return free;
    names.push(`${plain}.${operation}.${number}`);
  }
}

function withoutEmpty(parts: Record<Kind, Parts>): Partial<Record<Kind, Parts>> {
  return Object.fromEntries(Object.entries(parts).filter(([, its]) => Object.keys(its).length > 0));
}
