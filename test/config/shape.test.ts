import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DataField, JsonObject } from '../../config/schema.ts';
import { compileShape, compileShapeValue } from '../../config/shape.ts';

const fields: DataField[] = [
  { name: 'b', type: 'text' },
  { name: 'a', type: 'multiSelect' },
  { name: 'many', type: 'relationship', relationTo: 'x', hasMany: true },
  { name: 'constructor', type: 'text' },
  { name: 'o', type: 'object', fields: [{ type: 'row', fields: [{ name: 'x', type: 'number' }] }] },
  { name: 'list', type: 'array', fields: [{ name: 'x', type: 'number' }] },
  { name: 'blocks', type: 'blocks', blocks: [{ slug: 'hero', fields: [{ name: 'head', type: 'text' }] }] },
  { name: 'joined', type: 'join', collection: 'x', on: 'y' },
];

const empty = { b: null, a: [], many: [], constructor: null, o: null, list: [], blocks: [] };

describe('the shape of a document', () => {
  it('holds every field in order, null or [] if there is no value, and no join', () => {
    const shaped = compileShape(fields)({ unknown: 1, list: null, joined: [1] });
    assert.deepEqual(shaped, empty);
    assert.deepEqual(Object.keys(shaped), Object.keys(empty));
  });

  it('goes into objects, lists and blocks', () => {
    const shaped = compileShape(fields)({
      o: { y: 1 },
      list: [{}, null],
      blocks: [{ head: 'x', old: 1, blockType: 'hero' }],
    });
    assert.deepEqual(shaped, {
      ...empty,
      o: { x: null },
      list: [{ x: null }, null],
      blocks: [{ blockType: 'hero', head: 'x' }],
    });
    assert.equal(Object.keys((shaped.blocks as JsonObject[])[0] ?? {})[0], 'blockType');
  });

  it('keeps a block that is configured no longer, and a value of an earlier type', () => {
    const stored: JsonObject = {
      b: 3,
      a: 'one',
      many: 'id',
      o: [1],
      list: { x: 1 },
      blocks: [{ blockType: 'old', z: 1 }, 3],
    };
    assert.deepEqual(compileShape(fields)(stored), { ...empty, ...stored });
  });

  it('is never read from a prototype', () => {
    assert.deepEqual(compileShape(fields)(JSON.parse('{"__proto__":{"b":"hidden"}}')), empty);
  });

  it('of one value is that of the document', () => {
    assert.deepEqual(compileShapeValue({ name: 'o', type: 'object', fields: [] })({ x: 1 }), {});
    assert.deepEqual(compileShapeValue({ name: 'a', type: 'multiSelect' })(undefined), []);
  });

  it('stays as it is when shaped again, whatever was stored', () => {
    const key = fc.oneof(fc.constantFrom('b', 'a', 'o', 'list', 'blocks', 'x', 'blockType', '__proto__'), fc.string());
    const stored = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(key, fc.jsonValue()))));
    fc.assert(
      fc.property(stored, (values) => {
        const once = compileShape(fields)(values as JsonObject);
        assert.deepEqual(compileShape(fields)(once), once);
      }),
    );
  });
});
