import assert from 'node:assert/strict';
import { checkConfig } from '../../config/check.ts';
import { decideCreate, decideUpdate } from '../../events/facts/documents.ts';
import { createIds } from '../../events/store/ids.ts';
import { boot } from '../../projections/start/boot.ts';
import { sealsIn } from '../events/logs.ts';
import { category } from './category.ts';

/**
 * Continues a log under a clock that is ahead: changes the post `id`, whose title is "Right", and makes another post.
 */
export function writeAhead(data: string, config: object, id: string, milliseconds: number): void {
  const { schema, rules } = checkConfig(config);
  const now = () => Date.now() + milliseconds;
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
  const seals = sealsIn(data);
  const { log, projector, close } = boot({ directory: data, schema, rules, ids, now, logId: 'none', seals });
  const target = { category: category('posts'), unique: [] };
  const made = ids.next();
  const current = { version: 1, document: { title: 'Right' } };
  const { head } = log;
  const before = head().size;
  const who = { actor: { type: 'system' }, correlationId: 'ahead', context: {} } as const;
  const update = decideUpdate(target, id, { current, values: { title: 'Ahead' }, at: made.at });
  assert.ok(update);
  log.append([
    { ...update, ...who },
    { ...decideCreate(target, made.id, { at: made.at, values: { title: 'Made ahead' } }), ...who },
  ]);
  projector.apply(log.range(before, head().size), head().root);
  close();
}
