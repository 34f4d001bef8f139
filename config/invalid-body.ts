import type Joi from 'joi';
import { cutField, DomainError, type FieldError } from './errors.ts';
import { type MayName, problemText } from './messages.ts';

const maxErrors = 100;
const maxNamed = 5;

/** A body that is refused, `invalid`: the one refusal that names what the caller has not named itself. */
export class InvalidBody extends DomainError {
  readonly #details: readonly Joi.ValidationErrorItem[];

  constructor(details: readonly Joi.ValidationErrorItem[], mayName?: MayName) {
    const errors = errorsOf(details, mayName);
    super('invalid', summary(errors), errors);
    this.#details = details;
  }

  /** True when something in it is not a field, so that hints may be told. */
  get hasHints(): boolean {
    return this.#details.some(({ type }) => type === 'object.unknown');
  }

  /** The same refusal with hints that name only these fields. */
  withHints(mayName: MayName): InvalidBody {
    return new InvalidBody(this.#details, mayName);
  }
}

function errorsOf(details: readonly Joi.ValidationErrorItem[], mayName?: MayName): FieldError[] {
  const errors = new Map<string, FieldError>();
  for (const detail of details) {
    if (errors.size === maxErrors) break;
    const field = cutField(detail.path.join('.'));
    if (!errors.has(field)) errors.set(field, { field, message: `${field} ${problemText(detail, mayName)}` });
  }
  return [...errors.values()];
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors;
  if (errors.length === 1 && first) return first.message;
  const names = errors.slice(0, maxNamed).map(({ field }) => field);
  const more = errors.length > maxNamed ? ` and ${errors.length - maxNamed} more` : '';
  const count = errors.length === maxErrors ? `${maxErrors} or more` : errors.length;
  return `${count} fields are wrong: ${names.join(', ')}${more}`;
}
