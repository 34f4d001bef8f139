import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Request, ResponseToolkit } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import type { App } from '../../server/app.ts';
import { cookieOf, isForeign, setCookie } from '../../server/callers/cookies.ts';

const requestWith = (headers: { [name: string]: string }, method = 'post') =>
  ({ method, headers, info: { host: 'cms.example' } }) as unknown as Request;
const fromSite = (site: string) => ({ 'sec-fetch-site': site });
const own = 'http://cms.example';

describe('A request under a cookie', () => {
  const cases: [what: string, headers: { [name: string]: string }, isForeign: boolean, baseUrl?: string][] = [
    ['a page of ours', fromSite('same-origin'), false],
    ['another host of the same site', fromSite('same-site'), true],
    ['another site', fromSite('cross-site'), true],
    ['no page', fromSite('none'), true],
    ['a browser that tells of origins alone', { origin: own }, false],
    ['another origin', { origin: 'http://blog.example' }, true],
    ['another port', { origin: 'http://cms.example:8080' }, true],
    ['a page without an origin', { origin: 'null' }, true],
    ['a program that says nothing', {}, true],
    ['a page of the same site that names our origin', { ...fromSite('same-site'), origin: own }, true],
    ['our address, in the open', { origin: own }, true, 'https://cms.example'],
    ['our address, as it is reached', { origin: 'https://cms.example' }, false, 'https://cms.example'],
    ['our address, behind a proxy', { origin: 'https://www.example' }, false, 'https://www.example'],
  ];
  for (const [what, headers, expected, baseUrl = null] of cases) {
    it(`${expected ? 'gives no right to write' : 'may write'} if it comes from ${what}`, () => {
      assert.equal(isForeign(requestWith(headers), baseUrl), expected);
      for (const method of ['put', 'patch', 'delete'])
        assert.equal(isForeign(requestWith(headers, method), baseUrl), expected, method);
      for (const method of ['get', 'head', 'options'])
        assert.equal(isForeign(requestWith(headers, method), baseUrl), false, method);
    });
  }
});

describe('The cookie of a session', () => {
  /** The options of the cookie that an answer to this request sets; null if it sets none. */
  function setBy(
    headers: { [name: string]: string },
    domain: string | null = null,
  ): { [name: string]: unknown } | null {
    let options: { [name: string]: unknown } | null = null;
    const app = { site: null, isProduction: true, basePath: '/', baseUrl: null } as Partial<App> as App;
    const cookies = { secure: null, sameSite: 'Lax', domain };
    const collection = { slug: 'users', auth: { cookies, tokenExpiration: 60 } } as unknown as Collection;
    const state = (name: string, token: string, given: object) => {
      assert.deepEqual([name, token], ['annals-users', 'the token']);
      options = { ...given };
    };
    const request = { ...requestWith(headers), app: {} };
    setCookie({ request, state } as unknown as ResponseToolkit, app, { model: collection, token: 'the token' });
    return options;
  }

  it('is out of the reach of scripts, of plain HTTP and of other sites, and ends with its token', () => {
    const { isHttpOnly, isSecure, isSameSite, ttl } = setBy(fromSite('same-origin')) ?? {};
    assert.deepEqual(
      { isHttpOnly, isSecure, isSameSite, ttl },
      { isHttpOnly: true, isSecure: true, isSameSite: 'Lax', ttl: 60_000 },
    );
  });

  it('is not set for a page of another site, which would log a user in as somebody else', () => {
    const isSet = (headers: { [name: string]: string }, domain?: string) => setBy(headers, domain) !== null;
    const sites = ['same-origin', 'none', 'same-site', 'cross-site'].map(fromSite);
    assert.deepEqual(
      sites.map((headers) => isSet(headers)),
      [true, true, false, false],
    );
    assert.deepEqual(
      sites.map((headers) => isSet(headers, 'example')),
      [true, true, true, false],
    );
    assert.deepEqual(
      [{ origin: own }, { origin: 'http://blog.example' }, {}].map((headers) => isSet(headers)),
      [true, false, true],
    );
  });

  it('counts for nothing if there are two of it, or an empty one', () => {
    const found = (cookie: string) => cookieOf(requestWith({ cookie }), 'annals-users');
    assert.deepEqual(
      ['annals-users=a', 'x=1; annals-users=a', '__proto__; annals-users=a', 'annals-users=a; annals-users=b'].map(
        found,
      ),
      ['a', 'a', 'a', null],
    );
    assert.deepEqual(['annals-users=', 'annals-users', 'xannals-users=a', ''].map(found), [null, null, null, null]);
  });
});
