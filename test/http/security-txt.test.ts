import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHere } from '../helpers/embedded.ts';

const posts = { slug: 'posts', fields: [] };
const path = '/.well-known/security.txt';
const day = 24 * 60 * 60 * 1000;

describe('/.well-known/security.txt', () => {
  it('says to everybody where to report a vulnerability, until some day within a year', async (t) => {
    const securityContact = ['mailto:security@example.org', 'https://example.org/security'];
    const service = await startHere(t, { collections: [posts], securityContact }, { path: '/cms' });
    const response = await fetch(service.url + path);
    assert.equal(response.status, 200);
    const { headers } = response;
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'public, max-age=86400');
    assert.equal(headers.get('vary'), null);
    const text = await response.text();
    const [, expires = ''] = /^Expires: (\d{4}-\d\d-\d\dT00:00:00\.000Z)$/m.exec(text) ?? [];
    assert.equal(
      text,
      [
        'Contact: mailto:security@example.org',
        'Contact: https://example.org/security',
        `Expires: ${expires}`,
        `Canonical: ${service.url}${path}`,
        '',
      ].join('\n'),
    );
    const left = Date.parse(expires) - Date.now();
    assert.ok(left > 170 * day && left < 365 * day, expires);
    // A new answer is the one that a cache has, whatever the credential.
    assert.equal(await (await fetch(service.url + path, { headers: { authorization: 'Bearer wrong' } })).text(), text);
    assert.equal((await fetch(service.url + path, { method: 'HEAD' })).status, 200);
    const wrong = await fetch(`${service.url}${path}?x=1`);
    assert.equal(wrong.status, 400);
  });

  it('is a 404 without the option', async (t) => {
    const service = await startHere(t, { collections: [posts] }, { path: '/cms' });
    assert.equal((await fetch(service.url + path)).status, 404);
  });

  it('is that of the server around the service if that is at its root, and the log says so', async (t) => {
    const config = { collections: [posts], securityContact: 'mailto:security@example.org' };
    const service = await startHere(t, config);
    assert.equal((await fetch(service.url + path)).status, 404);
    assert.ok(
      service.lines().some(({ level, msg }) => level === 40 && msg.startsWith('securityContact shows nothing here')),
    );
  });
});
