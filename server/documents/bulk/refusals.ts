import Boom from '@hapi/boom';
import { counted } from '../../../config/counted.ts';
import { DomainError, type FieldError, inBody, invalidFields, type RefusalCode } from '../../../config/errors.ts';
import type { Claim } from '../../../events/facts/log.ts';
import type { App } from '../../app.ts';
import { fieldOf, keptByOthers } from '../write/writes.ts';
import type { Item, ItemDecision } from './items.ts';

/** How many documents a 403 names at most. */
const mostRefused = 20;
/** How many fields a 400 or 409 names at most. */
const mostErrors = 100;

/**
 * The refusal of a call of which a rule refuses these documents.
 *
 * @param isOfPublic whether it is the rule `publish`, asked about writes of what is public.
 */
export function refusedOf(refused: readonly Item[], all: readonly Item[], isOfPublic = false): DomainError {
  const verbOf = ({ write: { lines, operation } }: Item) => {
    return isOfPublic || lines?.right === 'publish' ? 'publish' : operation;
  };
  const errors = refused.slice(0, mostRefused).map((item): FieldError => {
    return { ...inBody(item.at, 'forbidden_document'), message: `you may not ${verbOf(item)} ${nameOf(item)}` };
  });
  const more = refused.length > mostRefused ? `, and ${refused.length - mostRefused} more` : '';
  const names = refused.slice(0, mostRefused).map(nameOf).join(', ');
  const operations = new Set(refused.map(verbOf));
  const verb = operations.size === 1 ? [...operations][0] : 'write';
  const hint = isOfPublic ? '; send draft=true to save drafts' : '';
  const message = `you may not ${verb} ${refused.length} of ${counted(all.length, 'document')}: ${names}${more}${hint}`;
  return new DomainError('forbidden', message, errors);
}

function nameOf({ at, id }: Item): string {
  return at === 'where' ? String(id) : at;
}

/** Errors about the fields of one document, as errors about the body that it came in. */
function within(place: string, errors: readonly FieldError[]): FieldError[] {
  return errors.map((error) => {
    const { field, message } = error;
    if (field === '')
      return {
        ...error,
        field: place,
        message: /^the body/.test(message) ? message.replace(/^the body/, place) : `${place}: ${message}`,
      };
    const isNamed = message.startsWith(`${field} `);
    return { ...error, field: `${place}.${field}`, message: `${place}${isNamed ? '.' : ': '}${message}` };
  });
}

/** Gathers errors over fields, each once, up to {@link mostErrors}, from checks that throw an error with this code. */
export function gatherErrors(code: RefusalCode = 'validation_failed') {
  const found = new Map<string, FieldError>();

  function add(errors: readonly FieldError[]): void {
    for (const error of errors) if (!isFull() && !found.has(error.field)) found.set(error.field, error);
  }

  /** Runs the check of one document, whose fields have a path in the body. @throws errors with another code. */
  async function check(place: string, run: () => void | Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof DomainError && error.code === code)) throw error;
      const { message, errors } = error;
      add(
        errors.length > 0 ? within(place, errors) : [{ ...inBody(place, 'invalid'), message: `${place}: ${message}` }],
      );
    }
  }

  function isFull(): boolean {
    return found.size >= mostErrors;
  }

  return { add, check, isFull, all: (): FieldError[] => [...found.values()] };
}

/** @throws DomainError `forbidden` if there are errors over fields that may not be written. */
export function refuseFields(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new DomainError('forbidden', errors.map(({ message }) => message).join('; '), errors);
}

/** @throws DomainError `validation_failed` if there are errors. */
export function refuseInvalid(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  if (errors.length === 1) throw invalidFields(errors);
  const names = errors.slice(0, 5).map(({ field }) => field);
  const more = errors.length > 5 ? ` and ${errors.length - 5} more` : '';
  throw new DomainError('validation_failed', `${errors.length} fields are wrong: ${names.join(', ')}${more}`, errors);
}

/** @throws DomainError `conflict` if there are documents for which a call is not possible. */
export function refuseImpossible(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const told = errors.slice(0, mostRefused).map(({ message }) => message);
  const more = errors.length > told.length ? `; and ${errors.length - told.length} more` : '';
  throw new DomainError('conflict', told.join('; ') + more, errors);
}

/** The refusal of a hook, with the name of its document in front. Any other error stays as it is. */
export function refusalOfHook(error: unknown, { at, id }: Item): unknown {
  if (!Boom.isBoom(error)) return error;
  const { payload } = error.output;
  payload.message = `${at === 'where' ? id : at}: ${payload.message}`;
  return error;
}

/**
 * Refuses unique values that several documents of the call would have.
 *
 * @throws DomainError `conflict` naming these values, and those that other documents have.
 */
export function refuseClashes(app: App, decisions: readonly ItemDecision[]): void {
  const first = new Map<string, Item>();
  const errors = gatherErrors();
  for (const { item, change } of decisions) {
    for (const claim of change?.claims ?? []) {
      const key = `${claim.scope}\n${claim.value}`;
      const other = first.get(key);
      if (!other) first.set(key, item);
      else errors.add([clashOf(item, claim, `is taken by ${nameOf(other)} in this call`)]);
    }
  }
  if (errors.all().length === 0) return;
  errors.add(heldIn(app, decisions, null));
  refuseTaken(errors.all());
}

/** @throws DomainError `conflict` naming the unique values that other documents have; `claim` is one of them. */
export function refuseHeld(app: App, decisions: readonly ItemDecision[], claim: Claim | null): void {
  const errors = gatherErrors();
  errors.add(heldIn(app, decisions, claim));
  refuseTaken(errors.all());
}

function heldIn(app: App, decisions: readonly ItemDecision[], claim: Claim | null): FieldError[] {
  const changes = decisions.flatMap(({ change }) => change ?? []);
  const isKept = keptByOthers(app, changes, claim);
  return decisions.flatMap(({ item, change }) => {
    const kept = (change?.claims ?? []).filter(isKept);
    return kept.map((one) => clashOf(item, one, 'is taken by another document'));
  });
}

function clashOf({ within }: Item, { scope }: Claim, problem: string): FieldError {
  const field = `${within}.${fieldOf(scope)}`;
  return { ...inBody(field, 'unique'), message: `${field} ${problem}` };
}

function refuseTaken(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new DomainError('unique', errors.map(({ message }) => message).join('; '), errors);
}
