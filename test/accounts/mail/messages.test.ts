import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MailArgs, MailKind, MailTemplate } from '../../../config/model.ts';
import { linkOf, type MailMessage, tokenKindOf, writeMessage } from '../../../server/accounts/mail/messages.ts';
import { type LogLine, openLog } from './post-office.ts';

const kinds: MailKind[] = [
  'invitation',
  'welcome',
  'passwordReset',
  'passwordChanged',
  'reviewRequested',
  'reviewRefused',
];
const baseUrl = 'https://cms.example.org';
const args: MailArgs = {
  collection: 'editors',
  email: 'ada@example.org',
  user: null,
  url: 'https://cms.example.org/account/editors/accept-invite?token=abc',
  expiresAt: new Date('2027-03-04T05:06:07Z'),
  review: {
    collection: 'posts',
    global: null,
    id: 'post-1',
    version: 7,
    note: 'Please look at the numbers.\n\nThey are new.',
    by: { id: 'user-1', collection: 'editors', email: 'bob@example.org' },
  },
  release: null,
};

async function written(
  kind: MailKind,
  parts: Partial<MailArgs> = {},
  template?: MailTemplate,
): Promise<MailMessage & { lines: LogLine[] }> {
  const { log, lines } = openLog();
  const message = await writeMessage({
    kind,
    args: { ...args, ...parts },
    baseUrl,
    template,
    log,
    templateSeconds: 0.05,
  });
  return { ...message, lines };
}

describe('A message in our own words', () => {
  for (const kind of kinds) {
    it(`says the same as plain text and as HTML (${kind})`, async () => {
      const { text, html } = await written(kind);
      const body = html.slice(html.indexOf('<body'));
      const words = (form: string) =>
        form
          .replace(/<[^>]*>/g, ' ')
          .replaceAll(':\n', ' ')
          .replace(/\s+/g, ' ')
          .trim();
      assert.equal(words(body), words(text));
    });

    it(`names the account, the site and the page to go to (${kind})`, async () => {
      const { subject, text, html } = await written(kind);
      assert.match(subject, /cms\.example\.org/);
      for (const form of [text, html]) {
        assert.match(form, /ada@example\.org/);
        assert.match(form, /cms\.example\.org/);
      }
      assert.ok(text.split('\n').includes(String(args.url)), text);
      assert.ok(html.includes(`<a href="${args.url}">`), html);
    });
  }

  it('says until when a link that expires works', async () => {
    for (const kind of ['invitation', 'passwordReset'] as const) {
      assert.match((await written(kind)).text, /The link works once, until 4 March 2027 at 05:06 UTC\./);
    }
  });

  it('says whose review is asked for, of what, with the note in paragraphs', async () => {
    const { text, html } = await written('reviewRequested');
    assert.match(
      text,
      /^bob@example\.org asks you .* to review a document of posts \(version 7\) at cms\.example\.org/m,
    );
    assert.match(text, /\n\nPlease look at the numbers\.\n\nThey are new\.\n\n/);
    assert.match(html, /<p>Please look at the numbers\.<\/p>\n<p>They are new\.<\/p>/);
    const global = { collection: null, global: 'site', id: null, version: 2, note: null, by: null };
    const { text: refused } = await written('reviewRefused', { review: global });
    assert.match(refused, /^An editor did not approve the global site \(version 2\) at cms\.example\.org/m);
  });

  it('links to the draft in the admin application, if the recipient works there', () => {
    const pages = { slug: 'editors', urls: {}, baseUrl, review: args.review };
    assert.equal(linkOf('reviewRequested', { ...pages, isInAdmin: true }, null), `${baseUrl}/admin/c/posts/post-1`);
    assert.equal(linkOf('reviewRequested', pages, null), null);
    const global = { collection: null, global: 'site', id: null, version: 2, note: null, by: null };
    const toSite = linkOf('reviewRefused', { ...pages, review: global, isInAdmin: true, site: 'north' }, null);
    assert.equal(toSite, `${baseUrl}/admin/g/site?site=north`);
  });

  it('has no link if there is no page to go to', async () => {
    for (const kind of ['welcome', 'passwordChanged'] as const) {
      const { subject, text, html } = await written(kind, { url: null, expiresAt: null });
      assert.match(subject, /cms\.example\.org/);
      assert.doesNotMatch(text, /https?:|Log in:/);
      assert.doesNotMatch(html, /<a /);
    }
  });

  it('names the site that the link leads to, when that is another one than the service', async () => {
    const { subject, text } = await written('invitation', { url: 'https://www.example.net/join?token=abc' });
    assert.equal(subject, 'You are invited to www.example.net');
    assert.doesNotMatch(text, /cms\.example\.org/);
  });

  it('shows an address that looks like HTML, and runs nothing of it', async () => {
    const email = `"><script>alert('1')</script>&amp;@example.org`;
    for (const kind of kinds) {
      const { html } = await written(kind, { email, url: `https://a.example/?a=1&b="'<>` });
      assert.doesNotMatch(html, /<script|"'<>/);
      assert.ok(html.includes('&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;@example.org'), html);
      assert.ok(html.includes('href="https://a.example/?a=1&amp;b=&quot;&#39;&lt;&gt;"'), html);
    }
  });
});

describe('The page that a mail links to', () => {
  const pages = { slug: 'editors', urls: {}, baseUrl };

  it('is one below the address of the service, unless the configuration names another', () => {
    assert.equal(linkOf('invitation', pages, 'abc'), `${baseUrl}/account/editors/accept-invite?token=abc`);
    assert.equal(linkOf('passwordReset', pages, 'abc'), `${baseUrl}/account/editors/reset-password?token=abc`);
    const below = { ...pages, baseUrl: 'https://example.org/cms' };
    assert.equal(linkOf('invitation', below, 'abc'), 'https://example.org/cms/account/editors/accept-invite?token=abc');
  });

  it('is one of the admin application for those who work there, unless the configuration names another', () => {
    const inAdmin = { ...pages, baseUrl: 'https://example.org/cms', isInAdmin: true, site: 'acme' };
    const admin = 'https://example.org/cms/admin';
    assert.equal(linkOf('invitation', inAdmin, 'abc'), `${admin}/accept-invite?token=abc&site=acme`);
    assert.equal(linkOf('passwordReset', inAdmin, 'abc'), `${admin}/reset?token=abc&site=acme`);
    assert.equal(linkOf('welcome', inAdmin, null), null);
    const urls = { resetPassword: 'https://www.example.net/reset' };
    assert.equal(linkOf('passwordReset', { ...inAdmin, urls, site: null }, 'abc'), `${urls.resetPassword}?token=abc`);
  });

  it('is a page of the author, with the token beside what its query holds already', () => {
    const urls = {
      acceptInvite: 'https://www.example.net/join?lang=de&token=old#form',
      resetPassword: 'https://www.example.net/reset',
      login: 'https://www.example.net/login?from=mail',
    };
    assert.equal(
      linkOf('invitation', { ...pages, urls }, 'abc'),
      'https://www.example.net/join?lang=de&token=abc#form',
    );
    assert.equal(linkOf('passwordReset', { ...pages, urls }, 'abc'), 'https://www.example.net/reset?token=abc');
    assert.equal(linkOf('welcome', { ...pages, urls }, null), urls.login);
    assert.equal(linkOf('passwordChanged', { ...pages, urls }, null), urls.login);
  });

  it('is absent if no login page is configured', () => {
    assert.equal(linkOf('welcome', pages, null), null);
    assert.equal(linkOf('passwordChanged', pages, null), null);
  });

  it('carries every character of the token', () => {
    const token = 'a+b/c=d&e#f?g h%20';
    const link = linkOf('invitation', pages, token);
    assert.equal(new URL(String(link)).searchParams.get('token'), token);
  });

  it('carries the token of an invitation or of a reset, if there is one', () => {
    assert.deepEqual(kinds.map(tokenKindOf), ['invite', null, 'reset', null, null, null]);
  });
});

describe('A template of the configuration', () => {
  it('replaces the parts that it has, and only those', async () => {
    const plain = await written('invitation');
    const changed = await written('invitation', {}, { text: () => 'Come in.', subject: async () => 'Hello' });
    assert.equal(changed.subject, 'Hello');
    assert.equal(changed.text, 'Come in.');
    assert.equal(changed.html, plain.html);
    assert.deepEqual(changed.lines, []);
  });

  it('is told whom the mail is for, and the link with its end', async () => {
    const user = { id: 'u1', collection: 'editors', email: 'ada@example.org', name: 'Ada' };
    let told: MailArgs | undefined;
    await written(
      'passwordReset',
      { user },
      {
        text: (given) => {
          told = given;
          return 'x';
        },
      },
    );
    assert.deepEqual(told, { ...args, user });
  });

  it('makes no second header, whatever its subject holds', async () => {
    const subject = () => 'Hello\r\nBcc: eve@example.net\n\tand\u2028more\u0000\u0085';
    assert.equal((await written('welcome', {}, { subject })).subject, 'Hello Bcc: eve@example.net and more');
  });

  const broken: Record<string, MailTemplate['text']> = {
    throws: () => {
      throw new Error('no such layout');
    },
    rejects: () => Promise.reject(new Error('no such layout')),
    'gives no text': () => undefined as unknown as string,
    'gives another value': () => ({ path: '/etc/passwd' }) as unknown as string,
    'gives white space': () => ' \n ',
    'never ends': () => new Promise(() => {}),
  };
  for (const [what, make] of Object.entries(broken)) {
    it(`is logged and our own words are sent in its place when it ${what}`, async () => {
      const { lines: _, ...plain } = await written('invitation');
      const template = { subject: make, text: make, html: make } as MailTemplate;
      const { lines, ...message } = await written('invitation', {}, template);
      assert.deepEqual(message, plain);
      assert.deepEqual(
        lines.map(({ level, mail, part }) => [level, mail, part]),
        [
          [50, 'invitation', 'subject'],
          [50, 'invitation', 'text'],
          [50, 'invitation', 'html'],
        ],
      );
    });
  }
});
