import { isObject, type JsonObject, type Rules, type Schema } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import type { Epoch } from '../../events/facts/lineage.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import { messageOf } from '../../storage/errors.ts';
import type { Projection } from './projection.ts';
import { tablesOf } from './tables.ts';

/** The schema and the rules that a configuration declares. */
export type Declared = { schema: Schema; rules: Rules };

/**
 * The schema and rules that held from a position on, as a log says; `rules` is null in a log from before they were
 * recorded.
 */
export type RecordedEpoch = Epoch & { rules: Rules | null };

/**
 * How a configuration differs from what a log ends with: by its schema, or by its rules.
 *
 * @param last undefined where the log has no schema yet.
 */
export function differenceTo(last: RecordedEpoch | undefined, { schema, rules }: Declared) {
  const isChanged = JSON.stringify(last?.schema) !== JSON.stringify(schema);
  return { isChanged, hasOtherRules: JSON.stringify(last?.rules) !== JSON.stringify(rules) };
}

/**
 * Every schema the log has had, oldest first, with the position from which it held.
 *
 * @throws BrokenLogError when an event does not hold one.
 */
export function epochsOf(log: LogReader): RecordedEpoch[] {
  return log.stream(schemaStream).map(({ header: { position }, data }) => epochIn(position, data));
}

/**
 * The schema and rules that an event of the stream of the schema has recorded.
 *
 * @throws BrokenLogError when it does not hold a schema.
 */
export function epochIn(position: number, data: JsonObject | null): RecordedEpoch {
  const schema = data?.schema as Schema | undefined;
  if (!Array.isArray(schema?.collections) || !Array.isArray(schema.globals)) {
    throw new BrokenLogError(`event ${position} does not hold the schema that it recorded`);
  }
  const rules = data?.rules;
  return { position, schema, rules: isObject(rules) ? (rules as Rules) : null };
}

/** The projection of the schema that a log ends with; null for a log without one. */
export function projectionOf(log: LogReader): { projection: Projection; schema: Schema } | null {
  const epochs = epochsOf(log);
  const schema = epochs.at(-1)?.schema;
  if (!schema) return null;
  try {
    const upcaster = compileUpcaster(epochs);
    return { projection: { tables: tablesOf(schema), upcaster, epochs }, schema };
  } catch (error) {
    throw new BrokenLogError(`the log does not hold the schemas it was written with: ${messageOf(error)}`);
  }
}
