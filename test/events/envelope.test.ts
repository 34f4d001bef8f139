import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import canonicalizeModule from 'canonicalize';
import fc from 'fast-check';
import type { EventType } from '../../events/facts/catalogue.ts';
import {
  type Actor,
  commitmentOf,
  encodeHeader,
  encodePayload,
  type Header,
  type Payload,
} from '../../events/facts/envelope.ts';
import { anyText } from '../helpers/text.ts';

// The types claim a default export inside the function that the module is.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string;

// The types say `export default`, but the module is CommonJS and is the function itself.
const canonical = canonicalize as unknown as (value: unknown) => string;

const text = anyText();

const actor: fc.Arbitrary<Actor> = fc.record(
  { type: fc.constantFrom<Actor['type']>('user', 'apiKey', 'system', 'anonymous'), id: text },
  { requiredKeys: ['type'] },
);

/** Headers with members in an order of their own, which the canonical form does not depend on. */
const header: fc.Arbitrary<Header> = fc
  .tuple(
    fc.record({
      form: fc.oneof(
        fc.constant({ v: 1 as const }),
        fc.constant({ v: 2 as const }),
        fc.record({ v: fc.constant(2 as const), batch: fc.uuid({ version: 7 }) }),
      ),
      log: text,
      position: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      id: fc.uuid({ version: 7 }),
      stream: text,
      version: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      type: fc.constantFrom<EventType>('document.created', 'document.updated', 'global.updated', 'schema.changed'),
      schemaVersion: fc.nat(),
      recordedAt: text,
      actor,
      correlationId: text,
      payload: text,
    }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([{ form, ...rest }, order]) => {
    const members = { ...form, ...rest };
    const entries = Object.entries(members).map((entry) => [order.next().value as number, entry] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, entry]) => entry)) as unknown as Header;
  });

describe('the header of an event', () => {
  it('is encoded byte for byte as an independent implementation of RFC 8785 does it', () => {
    fc.assert(
      fc.property(header, (value) => {
        const encoded = Buffer.from(encodeHeader(value), 'utf8');
        assert.deepEqual(encoded, Buffer.from(canonical(value), 'utf8'));
        assert.deepEqual(JSON.parse(encoded.toString('utf8')), { ...value, actor: { ...value.actor } });
      }),
      { numRuns: 1000 },
    );
  });

  it('is the text that the log format describes', () => {
    const encoded = encodeHeader({
      v: 1,
      log: 'annals/test',
      position: 1234,
      id: '0198f0a0-0000-7000-8000-000000000000',
      stream: 'posts/0198f0a0-0000-7000-8000-000000000001',
      version: 7,
      type: 'document.updated',
      schemaVersion: 1,
      recordedAt: '2026-11-20T12:00:00.000Z',
      actor: { type: 'user', id: 'users/é"\\\n\u0001\u2028' },
      correlationId: 'request',
      payload: 'sha256:00',
    });
    assert.equal(
      encoded,
      '{"actor":{"id":"users/é\\"\\\\\\n\\u0001\u2028","type":"user"},"correlationId":"request",' +
        '"id":"0198f0a0-0000-7000-8000-000000000000","log":"annals/test","payload":"sha256:00","position":1234,' +
        '"recordedAt":"2026-11-20T12:00:00.000Z","schemaVersion":1,"stream":"posts/0198f0a0-0000-7000-8000-000000000001",' +
        '"type":"document.updated","v":1,"version":7}',
    );
  });
});

describe('the header of an event of a bulk call', () => {
  const header = {
    log: 'annals/test',
    position: 1,
    id: '0198f0a0-0000-7000-8000-000000000000',
    stream: 'posts/1',
    version: 1,
    type: 'document.created' as const,
    schemaVersion: 1,
    recordedAt: '2026-11-20T12:00:00.000Z',
    actor: { type: 'system' as const },
    correlationId: 'request',
    batch: '0198f0a0-0000-7000-8000-00000000000b',
    payload: 'sha256:00',
  };

  it('names it behind the actor, from version 2 on', () => {
    const began =
      '{"actor":{"type":"system"},"batch":"0198f0a0-0000-7000-8000-00000000000b","correlationId":"request",';
    assert.ok(encodeHeader({ v: 2, ...header }).startsWith(began));
    assert.ok(!encodeHeader({ v: 1, ...header }).includes('batch'));
  });
});

describe('the payload of an event', () => {
  it('is committed to by SHA-256 over "annals-payload-v1", a zero byte and its bytes', () => {
    fc.assert(
      fc.property(text, (body) => {
        const expected = createHash('sha256')
          .update(Buffer.from('annals-payload-v1', 'ascii'))
          .update(Buffer.from([0]))
          .update(Buffer.from(body, 'utf8'))
          .digest('hex');
        assert.equal(commitmentOf(body), `sha256:${expected}`);
        assert.equal(commitmentOf(Buffer.from(body, 'utf8')), `sha256:${expected}`);
      }),
    );
  });

  it('has a known commitment', () => {
    assert.equal(commitmentOf(''), `sha256:${createHash('sha256').update('annals-payload-v1\0').digest('hex')}`);
    assert.notEqual(commitmentOf('a'), commitmentOf('b'));
    assert.match(commitmentOf('a'), /^sha256:[0-9a-f]{64}$/);
  });

  it('keeps data and context as they are, with a salt of 32 bytes in base64', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (data, reason) => {
        const plain = JSON.parse(JSON.stringify(data));
        const { salt, ...rest } = JSON.parse(encodePayload(plain, { reason })) as Payload;
        assert.deepEqual(rest, { data: plain, context: { reason } });
        assert.match(salt, /^[A-Za-z0-9+/]{43}=$/);
        assert.equal(Buffer.from(salt, 'base64').length, 32);
      }),
    );
  });

  it('never has the salt of another, so equal payloads have different commitments', () => {
    // Far more than the pool that salts are taken from holds.
    const bodies = Array.from({ length: 2000 }, () => encodePayload({ title: 'same' }, {}));
    const salts = bodies.map((body) => (JSON.parse(body) as Payload).salt);
    assert.equal(new Set(salts).size, salts.length);
    assert.equal(new Set(bodies.map(commitmentOf)).size, salts.length);
    // No byte of the salt stands still.
    const bytes = salts.map((salt) => Buffer.from(salt, 'base64'));
    for (let at = 0; at < 32; at += 1) assert.ok(new Set(bytes.map((salt) => salt[at])).size > 200, `byte ${at}`);
  });
});
