import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { servingOf } from '../../../server/documents/media/serving.ts';

describe('how a file is served', () => {
  it('shows what runs nothing, without a policy', () => {
    for (const type of ['image/png', 'image/avif', 'audio/mpeg', 'video/mp4', 'application/pdf']) {
      assert.deepEqual(servingOf(type), { contentType: type, disposition: 'inline', policy: null });
    }
    assert.deepEqual(servingOf('text/plain'), {
      contentType: 'text/plain; charset=utf-8',
      disposition: 'inline',
      policy: null,
    });
  });

  it('lets nothing run in what could: HTML and every XML', () => {
    for (const type of [
      'text/html',
      'TEXT/HTML; charset=utf-16',
      'image/svg+xml',
      'application/xhtml+xml',
      'application/xml',
      'text/xml',
      'application/rss+xml',
      'application/mathml+xml',
    ]) {
      const { policy, disposition, contentType } = servingOf(type);
      assert.match(String(policy), /^sandbox; default-src 'none';/, type);
      assert.doesNotMatch(String(policy), /allow-|script-src|'self'|https?:/);
      assert.equal(disposition, 'inline');
      assert.doesNotMatch(contentType, /utf-16/);
    }
    assert.equal(servingOf('text/html').contentType, 'text/html; charset=utf-8');
    // A charset here would overrule what an XML document says of itself.
    assert.equal(servingOf('image/svg+xml').contentType, 'image/svg+xml');
  });

  it('saves the rest', () => {
    for (const type of ['application/octet-stream', 'application/zip', 'application/x-shockwave-flash', 'font/woff2']) {
      assert.deepEqual(servingOf(type), { contentType: type, disposition: 'attachment', policy: null });
    }
    assert.equal(servingOf('text/calendar').disposition, 'attachment');
  });
});
