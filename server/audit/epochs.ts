import { dataFields } from '../../config/schema.ts';
import { compileDocument, type DocumentShape } from '../../config/shape.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import { type Epoch, keyedFields } from '../../events/facts/lineage.ts';
import { compileUpcaster, type Upcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';

/** The schemas that a log has had, and how to read events by each of them. */
export type Epochs = ReturnType<typeof openEpochs>;

/** Reads the schemas of a log when they are asked for, and again when there is a new one. */
export function openEpochs(log: LogReader) {
  let version = 0;
  let epochs: Epoch[] = [];
  let upcaster: Upcaster | null = null;
  // Compiled once for each schema that held, by how many there were.
  const upcasters = new Map<number, Upcaster>();
  const shapes = new Map<string, DocumentShape | null>();

  function all(): Epoch[] {
    const current = log.versionOf(schemaStream);
    if (current === version) return epochs;
    epochs = epochsOf(log);
    version = current;
    upcaster = null;
    upcasters.clear();
    shapes.clear();
    return epochs;
  }

  const upTo = (position: number) => all().filter((epoch) => epoch.position <= position);

  return {
    /** Brings what an event says to the names of today. */
    today(): Upcaster {
      const known = all();
      upcaster ??= compileUpcaster(known);
      return upcaster;
    },
    /** Brings it to the names at a position. */
    at(position: number): Upcaster {
      const then = upTo(position);
      return kept(upcasters, then.length, () => compileUpcaster(then));
    },
    /**
     * The form of a document at a position: its fields as they were declared then, or last before. Null when no schema
     * ever had this collection or global.
     *
     * @param key as of `schemaKey`: a collection's category, or the stream of a global.
     */
    shapeAt(key: string, position: number): DocumentShape | null {
      const then = upTo(position);
      return kept(shapes, `${then.length} ${key}`, () => {
        const fields = fieldsIn(then, key);
        return fields && compileDocument(fields, null);
      });
    },
    /**
     * The names of a collection's fields today, in their order; if the collection is gone, those that were declared
     * last.
     */
    names: (key: string): string[] =>
      (fieldsIn(all(), key) ?? []).filter(({ type }) => type !== 'join').map(({ name }) => name),
  };
}

function kept<K, V>(made: Map<K, V>, key: K, make: () => V): V {
  const found = made.get(key);
  if (found !== undefined) return found;
  const value = make();
  made.set(key, value);
  return value;
}

function fieldsIn(epochs: readonly Epoch[], key: string): ReturnType<typeof dataFields> | null {
  for (const { schema } of epochs.toReversed()) {
    const declared = keyedFields(schema).find((one) => one.key === key);
    if (declared) return dataFields(declared.fields);
  }
  return null;
}
