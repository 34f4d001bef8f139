import type { Json } from '../../config/schema.ts';
import type { ApiSchema } from './fields.ts';

type Part = Record<string, Json>;
type Parts = Record<string, Part>;
type Operation = {
  operationId: string;
  security?: Json;
  parameters?: Part[];
  requestBody?: Part;
  responses: ApiSchema;
};

/** The parts of a document that are shared here. */
type Shared = {
  security?: Json;
  paths: { [path: string]: { [method: string]: Operation } };
  components: Record<string, ApiSchema | Parts>;
};

type Kind = 'responses' | 'parameters' | 'requestBodies' | 'headers' | 'examples';

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
 * Writes each answer, parameter, body, header and example that a document has more than once only once, in its
 * `components`, and a `$ref` in every other place, and the `security` of most operations only once, at the top: without
 * this, most of a document are the same refusals at each operation. Names follow from the meaning, `NotFound`, `Limit`,
 * `collections.posts.where`. Of several parts with one meaning, the most frequent part has the plain name, the others
 * end in the operation that has them first: `NotFound.readDraft`. The result depends on the document alone.
 */
export function shareParts<D extends Shared>(document: D): D {
  const copy = structuredClone(document);
  const operations = Object.values(copy.paths).flatMap((methods) => Object.values(methods));
  const responses = share('responses', operations.flatMap(responsesIn));
  const parameters = share('parameters', operations.flatMap(parametersIn));
  const requestBodies = share('requestBodies', operations.flatMap(bodyIn));
  // Parts of shared answers and parameters count once.
  const answers = [...ownersOf(responses), ...operations.flatMap((one) => owned(one, Object.values(one.responses)))];
  const headers = share('headers', answers.flatMap(headersIn));
  const queries = [...ownersOf(parameters), ...operations.flatMap((one) => owned(one, one.parameters ?? []))];
  const examples = share('examples', queries.flatMap(examplesIn));
  Object.assign(copy.components, withoutEmpty({ responses, parameters, requestBodies, headers, examples }));
  shareSecurity(copy, operations);
  return copy;
}

type Owner = { part: Part; operation: string };

function ownersOf(named: Parts): Owner[] {
  return Object.entries(named).map(([operation, part]) => ({ part, operation }));
}

function owned(operation: Operation, parts: readonly Json[]): Owner[] {
  return parts.map((part) => ({ part: part as Part, operation: kindOf(operation) }));
}

/** Moves the most frequent `security` to the top. An operation without one would mean another thing then. */
function shareSecurity(copy: Shared, operations: readonly Operation[]): void {
  const texts = operations.map(({ security }) => JSON.stringify(security));
  const numbers = new Map<string | undefined, number>();
  for (const text of texts) numbers.set(text, (numbers.get(text) ?? 0) + 1);
  const [[usual, number] = [undefined, 0]] = [...numbers].sort(([, one], [, other]) => other - one);
  if (usual === undefined || number < 2 || numbers.has(undefined)) return;
  copy.security = JSON.parse(usual);
  operations.forEach((operation, index) => {
    if (texts[index] === usual) delete operation.security;
  });
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
  return (/^20/.test(status) ? schemaIn(response) : undefined) ?? namesOfStatus[status] ?? `Status${status}`;
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
  return schemaIn(parameter) ?? capitalized(String(parameter.name));
}

/** The name of the first schema that a part refers to. */
function schemaIn({ content, schema }: Part): string | undefined {
  return /"\$ref":"#\/components\/schemas\/([^"]+)"/.exec(JSON.stringify([content, schema]))?.[1];
}

function bodyIn(operation: Operation): Place[] {
  const { requestBody: part } = operation;
  if (!part) return [];
  return [
    {
      part,
      base: schemaIn(part) ?? 'Body',
      operation: kindOf(operation),
      replace: (shared) => {
        operation.requestBody = shared;
      },
    },
  ];
}

function headersIn(response: Owner): Place[] {
  return membersIn(response, 'headers');
}

function examplesIn(parameter: Owner): Place[] {
  return membersIn(parameter, 'examples');
}

function membersIn({ part, operation }: Owner, member: 'headers' | 'examples'): Place[] {
  const members = (part[member] ?? {}) as Parts;
  return Object.entries(members).map(([name, one]) => ({
    part: one,
    base: capitalized(name),
    operation,
    replace: (shared) => {
      members[name] = shared;
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
