import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';

const service = useServiceHere({
  collections: [
    { slug: 'members', auth: true, fields: [] },
    { slug: '__admins', auth: true, fields: [] },
    { slug: 'notes', fields: [{ name: 'text', type: 'text' }] },
  ],
});

describe('The account pages', () => {
  it('are there for every auth collection, and for no other', async () => {
    for (const slug of ['members', '__admins', 'notes', 'unknown']) {
      const status = slug === 'members' || slug === '__admins' ? 200 : 404;
      for (const action of ['accept-invite', 'reset-password', 'setup']) {
        const response = await fetch(`${service.url}/account/${slug}/${action}?token=x`);
        assert.deepEqual([slug, action, response.status], [slug, action, status]);
        if (status === 404) assert.equal((await response.json()).error, 'Not Found');
      }
    }
  });

  it('are not kept, not framed, and send no referrer', async () => {
    const { headers } = await fetch(`${service.url}/account/members/accept-invite?token=x`);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'self'.*frame-ancestors 'none'/);
  });

  it('run nothing but their own script, and load nothing from elsewhere', async () => {
    const response = await fetch(`${service.url}/account/__admins/setup`);
    assert.doesNotMatch(response.headers.get('content-security-policy') ?? '', /unsafe|https?:|\*/);
    assert.doesNotMatch(await response.text(), /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
  });

  it('let a browser keep the files: 304 for one that it has', async () => {
    for (const [file, type] of Object.entries({ 'account.js': 'text/javascript', 'account.css': 'text/css' })) {
      const first = await fetch(`${service.url}/account/${file}`);
      assert.deepEqual([first.status, first.headers.get('content-type')], [200, `${type}; charset=utf-8`]);
      await first.arrayBuffer();
      const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
      assert.equal((await fetch(`${service.url}/account/${file}`, { headers })).status, 304);
    }
  });
});
