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
export type Declaration = { schema: Schema; rules: Rules };

/**
 * The schema and rules that held from a position on, as a log has recorded them; `rules` is null in old logs, which
 * have none.
 */
type RecordedEpoch = Epoch & { rules: Rules | null };

/**
 * How a configuration differs from the last schema and rules of a log.
 *
 * @param last the last schema and rules; undefined if the log has no schema yet.
 */
export function differenceTo(last: RecordedEpoch | undefined, { schema, rules }: Declaration) {
  const isChanged = JSON.stringify(last?.schema) !== JSON.stringify(schema);
  return { isChanged, hasOtherRules: JSON.stringify(last?.rules) !== JSON.stringify(rules) };
}

/**
 * Every schema that the log has had, oldest first, with the position from which it held.
 *
 * @throws BrokenLogError if an event does not hold a schema.
 */
export function epochsOf(log: LogReader): RecordedEpoch[] {
  return log.stream(schemaStream).map(({ header: { position }, data }) => epochIn(position, data));
}

/**
 * The schema and rules that an event of the schema's stream has recorded.
 *
 * @throws BrokenLogError if it does not hold a schema.
 */
export function epochIn(position: number, data: JsonObject | null): RecordedEpoch {
  const schema = data?.schema as Schema | undefined;
  if (!Array.isArray(schema?.collections) || !Array.isArray(schema.globals)) {
    throw new BrokenLogError(`event ${position} does not hold the schema that it recorded`);
  }
  const rules = data?.rules;
  return { position, schema, rules: isObject(rules) ? (rules as Rules) : null };
}

/** The projection of the last schema of a log; null for a log without a schema. */
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
