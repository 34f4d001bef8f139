import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAllowed } from '../../../server/files/inspection/mime-types.ts';

describe('the types that a collection takes', () => {
  it('are all when it names none', () => {
    assert.equal(isAllowed('application/x-msdownload', null), true);
  });

  it('are those that it names, and those of a kind', () => {
    assert.equal(isAllowed('image/png', ['image/png']), true);
    assert.equal(isAllowed('image/png', ['application/pdf', 'image/*']), true);
    assert.equal(isAllowed('image/svg+xml', ['image/*']), true);
    assert.equal(isAllowed('image/png', ['image/pn', 'image/pngx', 'imag/*', 'text/*']), false);
    assert.equal(isAllowed('images/png', ['image/*']), false);
    assert.equal(isAllowed('image/png', []), false);
  });

  it('are compared without regard to case, parameters and which of its names a type has', () => {
    assert.equal(isAllowed('IMAGE/PNG; q=1', ['image/png']), true);
    assert.equal(isAllowed('image/png', ['Image/*']), true);
    assert.equal(isAllowed('image/jpeg', ['image/jpg']), true);
    assert.equal(isAllowed('image/x-icon', ['image/vnd.microsoft.icon']), true);
    assert.equal(isAllowed('constructor', ['image/*']), false);
  });
});
