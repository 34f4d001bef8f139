import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Config } from '../../../config/define.ts';
import type { EmailOptions, MailKind } from '../../../config/model.ts';
import { linkOf, writeMessage } from '../../../server/accounts/mail/messages.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { openLog } from './post-office.ts';

const page = readFileSync(new URL('../../../docs/mail.md', import.meta.url), 'utf8');
const baseUrl = 'https://cms.example.org';

/** A block of the page in some language, without its fences. */
function block(language: string, holding = ''): string {
  const blocks = [...page.matchAll(/^```(\w+)\n([^`]*(?:`(?!``)[^`]*)*)```$/gm)];
  const found = blocks.find(([, name, text = '']) => name === language && text.includes(holding));
  assert.ok(found?.[2], `docs/mail.md has no block of ${language} with ${holding}`);
  return found[2];
}

describe('The templates in the documentation', () => {
  it('write what is shown there', async (t) => {
    const define = new URL('../../../config/define.ts', import.meta.url).href;
    const file = join(temporaryFolder(t), 'annals.config.ts');
    writeFileSync(file, block('ts', 'defineConfig').replace("'annals'", JSON.stringify(define)));
    const { default: config } = (await import(pathToFileURL(file).href)) as {
      default: Config & { email: EmailOptions };
    };
    const { log, lines } = openLog();

    const write = (kind: MailKind, name: string | null) => {
      const url = linkOf(kind, { slug: 'editors', urls: {}, isInAdmin: true, baseUrl }, name === null ? 'TOKEN' : null);
      const user = name === null ? null : { id: 'u1', collection: 'editors', email: 'ada@example.org', name };
      const expiresAt = name === null ? new Date('2027-03-04T12:00:00Z') : null;
      const args = {
        collection: 'editors',
        email: 'ada@example.org',
        user,
        url,
        expiresAt,
        review: null,
        release: null,
      };
      return writeMessage({ kind, args, baseUrl, template: config.email.templates[kind], log });
    };
    const invitation = await write('invitation', null);
    assert.equal(invitation.subject, 'Come and write with us');
    assert.equal(invitation.text, block('text'));
    assert.equal(invitation.html, block('html'));
    const welcome = await write('welcome', 'Ada');
    assert.equal(welcome.text, 'Hello Ada, good to have you here.\n');
    assert.equal(welcome.subject, 'Welcome to cms.example.org');
    assert.deepEqual(lines, []);
  });
});
