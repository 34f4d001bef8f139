import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { sendRaw } from '../helpers/shared.ts';

const service = useServiceHere({ globals: [{ slug: 'site', fields: [] }] });

const files = {
  '/api/docs': 'text/html; charset=utf-8',
  '/api/docs/docs.js': 'text/javascript; charset=utf-8',
  '/api/docs/overview.js': 'text/javascript; charset=utf-8',
  '/api/docs/swagger.js': 'text/javascript; charset=utf-8',
  '/api/docs/docs.css': 'text/css; charset=utf-8',
  '/api/docs/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  '/api/docs/swagger-ui.css': 'text/css; charset=utf-8',
};

describe('GET /api/docs', () => {
  it('answers the page and each of its files to everybody, with its type', async () => {
    for (const [path, type] of Object.entries(files)) {
      const response = await fetch(service.url + path);
      assert.deepEqual([path, response.status, response.headers.get('content-type')], [path, 200, type]);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      assert.ok((await response.text()).length > 100);
    }
  });

  it('allows scripts, styles and requests of its own origin only', async () => {
    for (const path of Object.keys(files)) {
      const policy = (await fetch(service.url + path)).headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'self'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    }
    const html = await (await fetch(`${service.url}/api/docs`)).text();
    assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
    // The page names files by their path from it, a module others by their path from its own.
    const texts = [html];
    for (const name of ['docs.js', 'swagger.js'])
      texts.push(await (await fetch(`${service.url}/api/docs/${name}`)).text());
    const named = [...texts.join('\n').matchAll(/["'](?:docs|\.)\/([^"']+)["']/g)].map(
      ([, name]) => `/api/docs/${name}`,
    );
    assert.deepEqual(['/api/docs', ...named].sort(), Object.keys(files).sort());
  });

  it('lets a browser keep the files: 304 for one that it has', async () => {
    for (const path of Object.keys(files)) {
      const first = await fetch(service.url + path);
      await first.arrayBuffer();
      const etag = first.headers.get('etag') ?? '';
      assert.match(etag, /^(W\/)?"[^"]+"$/);
      const again = await fetch(service.url + path, { headers: { 'if-none-match': etag } });
      assert.deepEqual([path, again.status, await again.text()], [path, 304, '']);
    }
  });

  it('reaches no other file', async () => {
    for (const path of [
      '/api/docs/',
      '/api/docs/index.html',
      '/api/docs/package.json',
      '/api/docs/swagger-ui-bundle.js.map',
      '/api/docs/../docs.ts',
      '/api/docs/..%2f..%2fpackage.json',
      '/api/docs/%2e%2e/resources/docs.ts',
      '/api/docs/docs.js/..',
      '/api/docs/docs.js%00.css',
      '/api/docs//etc/passwd',
    ]) {
      const { status, body } = await sendRaw(service.url, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      assert.deepEqual([path, status, body?.error], [path, 404, 'Not Found']);
    }
  });
});
