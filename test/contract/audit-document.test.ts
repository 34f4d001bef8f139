import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { answersOf, assertTold, described, inlined, type OpenApi, operationsOf } from '../helpers/contract.ts';
import { routesOf, withApp } from '../helpers/openapi.ts';
import { audit } from './audit-calls.ts';

const posts = {
  slug: 'posts',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'tags', type: 'multiSelect', options: ['a'] },
    { name: 'extra', type: 'json' },
  ],
};
const users = { slug: 'users', auth: true, fields: [] };
const staff = { slug: 'staff', auth: { cookies: false }, fields: [] };
const admins = [{ apiKey: [] }, { bearer: [] }, { 'cookie.users': [] }];

/**
 * The callers who may look, and how many operations may refuse them: all, for an API key may have been made with less.
 */
const callers = {
  'keys only': { configuration: { collections: [posts] }, security: [{ apiKey: [] }], forbidden: 33 },
  'users of one kind': { configuration: { collections: [posts, users] }, security: admins, forbidden: 33 },
  'users of several kinds': { configuration: { collections: [posts, users, staff] }, security: admins, forbidden: 33 },
};

describe('The OpenAPI document of the audit routes', () => {
  for (const [name, { configuration, security, forbidden }] of Object.entries(callers)) {
    it(`is valid, with every audit route and no other, and says who may look: ${name}`, async () => {
      await withApp(configuration, async (app) => {
        const document = JSON.parse(await app.openApi('audit'));
        const { valid, errors } = await new Validator().validate(structuredClone(document));
        assert.deepEqual([document.openapi, valid, errors], ['3.0.3', true, undefined]);
        // OpenAPI has no word for a parameter of several segments.
        const routes = (await routesOf(app)).map((route) => route.replace('*}', '}'));
        assert.deepEqual(operationsOf(document).sort(), routes.filter((route) => route.includes(` ${audit}/`)).sort());
        assertWhole(document);
        assert.deepEqual(described(document, `GET ${audit}/events`).security, security);
        assert.equal(answersOf(document).filter((answer) => answer.endsWith(' 403')).length, forbidden);
      });
    });
  }
});

/** The rules for every operation. */
function assertWhole(document: OpenApi): void {
  const text = JSON.stringify(document);
  assert.doesNotMatch(text, /"x-(?!api-key")[^"]*":/, 'there are extensions of hapi-swagger left');
  const tags = document.tags.map(({ name }: { name: string }) => name);
  const used = new Set([...text.matchAll(/#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
  assert.deepEqual(
    Object.keys(document.components.schemas).filter((name) => !used.has(name)),
    [],
  );
  const operations = Object.values<OpenApi>(inlined(document).paths).flatMap((methods) =>
    Object.values<OpenApi>(methods),
  );
  const ids = operations.map(({ operationId }) => operationId);
  assert.deepEqual([...new Set(ids)], ids);
  assertTold(document);
  for (const { operationId, summary, tags: its, parameters = [] } of operations) {
    assert.match(operationId, /^audit_[a-zA-Z]+$/);
    assert.ok(summary && its.length === 1 && tags.includes(its[0]), operationId);
    for (const { name, description } of parameters) assert.ok(description, `${operationId}: ${name}`);
  }
}
