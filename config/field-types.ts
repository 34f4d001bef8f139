import { readDate, readDatetime, readTime } from './times.ts';

/** The affinity of a column of a STRICT SQLite table. */
export type Affinity = 'TEXT' | 'REAL' | 'INTEGER';

/** How a filter reads a value. `what` ends the sentence "must be …". */
type Form = { read: (text: string) => string | undefined; what: string };

/** The properties that all fields of a type share. */
type TypeFacts = {
  /** The affinity of the column that filters and sorts use; null if values are lists, objects or any JSON. */
  column: Affinity | null;
  /** The value is a list; in answers a missing value is `[]`. */
  isList?: true;
  /** The value is any JSON. */
  isJson?: true;
  /** The value is a date or time: its texts sort as the times do, and have only one letter case. */
  time?: Form;
  /**
   * The option that declares the inner fields of a type that nests: the fields of its object, or of the objects in its
   * list. `blocks` declares several lists of fields; the `blockType` of an object is the slug of its list.
   */
  inside?: 'fields' | 'blocks';
  /** A value for examples, if the same value suits most fields of the type. */
  sample?: string | number | boolean | { [key: string]: never };
};

const text = { column: 'TEXT' } as const;

/**
 * Every field type that an author may use, in the order of the documentation. This module imports neither joi, whose
 * loading takes a fifth of the start of a thread that only writes columns, nor anything else that threads do not need.
 */
const facts = {
  text,
  textarea: text,
  richText: { column: null, isJson: true, sample: {} },
  email: { ...text, sample: 'ada@example.org' },
  url: { ...text, sample: 'https://example.org/' },
  number: { column: 'REAL', sample: 1 },
  boolean: { column: 'INTEGER', sample: true },
  date: { ...text, time: { read: readDate, what: 'a calendar date like "2024-02-29"' }, sample: '2024-02-29' },
  datetime: {
    ...text,
    time: {
      // A date without a time means the first moment of the day, in UTC.
      read: (asked: string) => readDatetime(readDate(asked) === undefined ? asked : `${asked}T00:00:00Z`),
      what: 'a date, or a date and time with a zone like "2024-02-29T12:30:00Z"',
    },
    sample: '2024-02-29T12:30:00.000Z',
  },
  time: { ...text, time: { read: readTime, what: 'a time like "23:59"' }, sample: '23:59:59' },
  select: text,
  radio: text,
  multiSelect: { column: null, isList: true },
  relationship: text,
  upload: text,
  object: { column: null, inside: 'fields' },
  array: { column: null, isList: true, inside: 'fields' },
  blocks: { column: null, isList: true, inside: 'blocks' },
  json: { column: null, isJson: true, sample: {} },
  join: { column: null, isList: true },
  row: { column: null },
} as const satisfies Record<string, TypeFacts>;

/** Every field type that an author may use. */
export type FieldType = keyof typeof facts;

/** The properties of each field type. */
export const typeFacts: Readonly<Record<FieldType, TypeFacts>> = facts;

/** The affinity of the column that filters and sorts use; null if values are lists or nested. */
export function affinityOf(field: { type: FieldType; hasMany?: true }): Affinity | null {
  return field.hasMany ? null : typeFacts[field.type].column;
}

/** True if the value of a field is a list; in answers a missing value is `[]`. */
export function isList(field: { type: FieldType; hasMany?: true }): boolean {
  return typeFacts[field.type].isList === true || field.hasMany === true;
}
