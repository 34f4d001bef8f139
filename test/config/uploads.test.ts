import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { compileValidator } from '../../config/documents.ts';
import { InvalidBody } from '../../config/invalid-body.ts';
import type { Collection } from '../../config/model.ts';
import { dataFields } from '../../config/schema.ts';
import { compileDocument } from '../../config/shape.ts';
import { mediaPath } from '../../config/uploads.ts';
import { problemsOf } from './problems.ts';

const files = (more: object = {}) => ({ slug: 'files', upload: true, fields: [], ...more });

/** The problems of one upload collection, their paths without its own. */
function fileProblems(more: object): string[] {
  return problemsOf({ collections: [files(more)] }).map((line) => line.replace('collections.files.', ''));
}

const made = ['filename', 'mimeType', 'filesize', 'width', 'height', 'sha256', 'url'];

describe('an upload collection', () => {
  const { collections, schema } = checkConfig({
    collections: [files({ fields: [{ name: 'alt', type: 'text' }] }), { slug: 'posts', fields: [], upload: false }],
  });

  it('takes 7,000,000 bytes of any type, or what it says', () => {
    assert.deepEqual(collections.get('files')?.upload, { maxFileSize: 7_000_000, mimeTypes: null });
    assert.equal(collections.get('posts')?.upload, null);
    const upload = { maxFileSize: 1, mimeTypes: ['image/*', 'Application/PDF', 'application/vnd.ms-excel'] };
    const own = checkConfig({ collections: [files({ upload })] });
    assert.deepEqual(own.collections.get('files')?.upload, {
      maxFileSize: 1,
      mimeTypes: ['image/*', 'application/pdf', 'application/vnd.ms-excel'],
    });
    assert.deepEqual(own.schema.collections[0]?.upload, own.collections.get('files')?.upload);
  });

  it('has what tells of the file before its own fields, and says so in the schema', () => {
    const names = schema.collections[0]?.fields.map(({ name }) => name);
    assert.deepEqual(names, [...made, 'alt']);
    assert.deepEqual(schema.collections[0]?.upload, { maxFileSize: 7_000_000 });
    assert.deepEqual(
      collections.get('files')?.fields.map(({ name, isServerMade }) => [name, isServerMade]),
      [...made.map((name) => [name, true]), ['alt', undefined]],
    );
    assert.equal(schema.collections[1]?.upload, undefined);
  });

  it('may be what upload fields point to, as no other collection may', () => {
    const field = { name: 'cover', type: 'upload', relationTo: 'files' };
    const posts = { slug: 'posts', fields: [field, { ...field, name: 'more', hasMany: true }] };
    assert.deepEqual(problemsOf({ collections: [posts, files()] }), []);
    assert.deepEqual(problemsOf({ collections: [posts, files({ upload: false })] }), [
      'collections.posts.fields.cover.relationTo: "files" is not an upload collection',
      'collections.posts.fields.more.relationTo: "files" is not an upload collection',
    ]);
  });

  it('is refused with every wrong option, its path and what is allowed', () => {
    const upload = { maxFileSize: 0, mimeTypes: ['image', '*/*', 'image/png; q=1', 'image/png'], maxSize: 1 };
    assert.deepEqual(fileProblems({ upload }), [
      'upload.maxSize: is not a key of upload; did you mean "maxFileSize"?',
      'upload.maxFileSize: must be a whole number of bytes from 1, got 0',
      'upload.mimeTypes.0: must be a type like "image/png" or "image/*", got "image"',
      'upload.mimeTypes.1: must be a type like "image/png" or "image/*", got "*/*"',
      'upload.mimeTypes.2: must be a type like "image/png" or "image/*", got "image/png; q=1"',
    ]);
    assert.deepEqual(fileProblems({ upload: { mimeTypes: [] } }), [
      'upload.mimeTypes: must not be empty; leave it out to take any type',
    ]);
    assert.deepEqual(fileProblems({ upload: { mimeTypes: 'image/*' } }), [
      'upload.mimeTypes: must be a list, got "image/*"',
    ]);
    for (const wrong of ['yes', 1, null, []]) {
      assert.match(fileProblems({ upload: wrong }).join(), /^upload: must be true, false or an object, got /);
    }
    assert.deepEqual(fileProblems({ auth: true }), [
      'upload: must not be set with auth: a document is a file or an account',
    ]);
  });

  it('keeps the names of a file to itself, in any case', () => {
    const text = (name: string) => ({ name, type: 'text' });
    for (const name of ['file', 'FileName', 'url', 'sha256']) {
      assert.match(fileProblems({ fields: [text(name)] }).join(), /is reserved: it is added to upload collections$/);
      assert.deepEqual(problemsOf({ collections: [files({ upload: false, fields: [text(name)] })] }), []);
    }
    assert.deepEqual(fileProblems({ fields: [{ ...text('title'), renamedFrom: 'filename' }] }), [
      'fields.title.renamedFrom: "filename" is still a field here',
    ]);
  });
});

describe('a body for an upload collection', () => {
  const fields = [{ name: 'alt', type: 'text', required: true }];
  const model = checkConfig({ collections: [files({ fields })] }).collections.get('files') as Collection;
  const validator = compileValidator(model);
  const sentBack = { id: 'x', filename: 'a.png', mimeType: 5, sha256: null, url: {}, width: 'wide' };

  it('may hold what the service says of the file, which counts for nothing', () => {
    assert.deepEqual(validator.create({ alt: 'A', ...sentBack }), { alt: 'A' });
    assert.deepEqual(validator.update(sentBack), {});
  });

  it('is told of its own fields only', () => {
    const refused = (() => {
      try {
        validator.create({ alt: 'A', filenam: 'x', file: 'y' });
      } catch (error) {
        return error;
      }
    })();
    assert.ok(refused instanceof InvalidBody);
    assert.deepEqual(
      refused.errors.map(({ message }) => message),
      ['filenam is not a field', 'file is not a field'],
    );
  });
});

describe('the URL of a file', () => {
  const { schema } = checkConfig({ collections: [files()] });
  const fields = dataFields(schema.collections[0]?.fields ?? []);
  const values = { filename: '100 % ä/é.png', sha256: 'ab', filesize: 3 };

  it('is made of what is recorded, and written as a URL is', () => {
    const document = compileDocument(fields, 'files')('0198', values);
    assert.equal(document.url, '/api/media/files/0198/100%20%25%20%C3%A4%2F%C3%A9.png');
    assert.equal(document.url, mediaPath('files', '0198', values.filename));
    assert.deepEqual(Object.keys(document), ['id', 'createdAt', 'updatedAt', ...made]);
  });

  it('is null if there is no file, as before the collection took any', () => {
    assert.equal(compileDocument(fields, 'files')('0198', {}).url, null);
    assert.equal(compileDocument(fields, 'files')('0198', { filename: 'a' }).url, null);
    assert.equal(compileDocument(fields, null)('0198', values).url, null);
  });
});
