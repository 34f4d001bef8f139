import type { Epoch } from '../../events/facts/lineage.ts';
import type { Upcaster } from '../../events/facts/upcasters.ts';
import type { Tables } from './tables.ts';

/**
 * The tables that events are folded into, and the upcaster that brings events of earlier schemas to the last schema.
 * Both are made from `epochs`.
 */
export type Projection = { tables: readonly Tables[]; upcaster: Upcaster; epochs: readonly Epoch[] };
