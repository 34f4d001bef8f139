import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  acceptOf,
  askedFields,
  extensionOf,
  isTooLarge,
  kindOf,
  wrongTypeOf,
} from '../../admin/src/pages/media/files.ts';
import { changed, nextOf, type Sending } from '../../admin/src/pages/media/sending/queue.ts';
import { sizeOf } from '../../admin/src/parts/sizes.ts';
import type { Field } from '../../admin/src/schema/fields.ts';

describe('files', () => {
  it('have a size in words', () => {
    const sizes = [0, 1, 999, 1000, 1_250_000, 999_600, 20_000_000, 4_500_000_000].map((bytes) => sizeOf(bytes, 'en'));
    assert.deepEqual(sizes, ['0 bytes', '1 byte', '999 bytes', '1 kB', '1.3 MB', '1 MB', '20 MB', '4.5 GB']);
    assert.equal(sizeOf(1_250_000, 'de').replace(/\s/g, ' '), '1,3 MB');
  });

  it('are offered by the types of the collection', () => {
    assert.equal(acceptOf(undefined), undefined);
    assert.equal(acceptOf([]), undefined);
    assert.equal(acceptOf(['image/*', 'application/pdf']), 'image/*,application/pdf');
    assert.equal(acceptOf(['text/plain']), 'text/*,.md,.json,.csv');
  });

  it('are too large above the limit, and not at it', () => {
    const upload = { maxFileSize: 100 };
    assert.equal(isTooLarge({ size: 100 }, upload), false);
    assert.equal(isTooLarge({ size: 101 }, upload), true);
    assert.equal(isTooLarge({ size: 101 }, false), false);
  });

  it('are refused for their first bytes, and without known ones for the type of their name', () => {
    const png = '\x89PNG\r\n';
    const cases: [type: string, head: string, mimeTypes: string[] | undefined, wrong: string | null][] = [
      ['text/plain', 'just words', ['image/*'], 'text/plain'],
      ['text/plain', png, ['image/*'], null],
      ['image/jpeg', png, ['image/jpeg'], 'image/png'],
      ['image/jpeg', '\xff\xd8\xff', ['image/jpg'], null],
      ['image/tiff', 'II*', ['image/png'], null],
      ['application/json', '{}', ['text/plain'], null],
      ['application/vnd.ms-excel', 'a;b', ['text/csv'], null],
      ['audio/ogg', 'OggS', ['video/ogg'], null],
      ['video/mp4', '', ['application/pdf'], 'video/mp4'],
      ['application/pdf', '%PDF-1.7', ['*/*'], null],
      ['application/pdf', '%PDF-1.7', undefined, null],
      ['', 'anything', ['image/*'], null],
    ];
    for (const [type, head, mimeTypes, wrong] of cases) {
      assert.equal(wrongTypeOf(type, head, mimeTypes), wrong, `${type} ${mimeTypes}`);
    }
  });

  it('have a kind and an extension', () => {
    const kinds = ['image/png', 'video/mp4', 'audio/mpeg', 'application/pdf', 'text/plain', 'application/zip', ''];
    assert.deepEqual(kinds.map(kindOf), ['image', 'video', 'audio', 'text', 'text', 'other', 'other']);
    assert.deepEqual(['a.PDF', 'no', 'x.tar.gz', 'a.mostunusual'].map(extensionOf), ['PDF', '', 'GZ', '']);
  });

  it('are asked for what they are refused without, and for alt', () => {
    const fields: Field[] = [
      { name: 'alt', type: 'text' },
      { name: 'credit', type: 'text' },
      { name: 'code', type: 'text', required: true },
      { name: 'state', type: 'text', required: true, defaultValue: 'new' },
      { type: 'row', fields: [{ name: 'source', type: 'url', required: true }] },
      { name: 'secret', type: 'text', required: true, access: { read: true, create: false, update: false } },
    ];
    const asked = askedFields({ fields }).map(({ name }) => name);
    assert.deepEqual(asked, ['alt', 'code', 'source']);
  });
});

describe('the queue of files', () => {
  type One = Sending<string, string>;
  const add = (queue: readonly One[], ...names: string[]) => {
    const items = names.map((item, place) => ({ key: queue.length + place, item, isAsked: false, problem: null }));
    return changed<string, string>(queue, { type: 'add', items });
  };

  it('sends three at once, and the next when one has come', () => {
    let queue = add([], 'a', 'b', 'c', 'd');
    for (const { key } of nextOf(queue)) queue = changed(queue, { type: 'start', key });
    assert.deepEqual(
      queue.map(({ state }) => state),
      ['sending', 'sending', 'sending', 'waiting'],
    );
    assert.deepEqual(nextOf(queue), []);
    queue = changed(queue, { type: 'finish', key: 1, answer: 'document' });
    assert.deepEqual(
      nextOf(queue).map(({ item }) => item),
      ['d'],
    );
  });

  it('goes on when one fails, and keeps the texts of that one for another attempt', () => {
    let queue = changed<string, string>(add([], 'a', 'b'), { type: 'send', key: 0, data: { alt: 'A cup' } });
    queue = changed(queue, { type: 'start', key: 0 });
    queue = changed(queue, { type: 'fail', key: 0, problem: 'code is missing', problems: { code: 'is missing' } });
    assert.equal(queue[0]?.state, 'failed');
    assert.deepEqual(queue[0]?.data, { alt: 'A cup' });
    assert.deepEqual(
      nextOf(queue).map(({ item }) => item),
      ['b'],
    );
    queue = changed(queue, { type: 'send', key: 0, data: { alt: 'A cup', code: 'X' } });
    assert.equal(queue[0]?.state, 'waiting');
    assert.equal(queue[0]?.problem, null);
  });

  it('waits for the texts of a file that needs some, and sends none that is refused already', () => {
    const items = [
      { key: 0, item: 'a', isAsked: true, problem: null },
      { key: 1, item: 'b', isAsked: true, problem: 'too large' },
    ];
    const queue = changed<string, string>([], { type: 'add', items });
    assert.deepEqual(
      queue.map(({ state }) => state),
      ['asked', 'failed'],
    );
    assert.deepEqual(nextOf(queue), []);
  });

  it('forgets what is cancelled: an answer that comes late changes nothing', () => {
    const queue = changed(add([], 'a', 'b'), { type: 'remove', key: 0 });
    assert.deepEqual(changed(queue, { type: 'finish', key: 0, answer: 'late' }), queue);
    const cleared = changed(changed(queue, { type: 'finish', key: 1, answer: 'x' }), { type: 'clear', key: 0 });
    assert.deepEqual(cleared, []);
  });
});
