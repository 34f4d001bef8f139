import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cleanFilename } from '../../../server/files/uploads/filenames.ts';
import { anyText } from '../../helpers/text.ts';

const family = '👨‍👩‍👧';

/** Parts of harmful names. */
const pieces = [
  ...['/', '\\', '.', '..', ' ', '%', '%2F', '<', '>', ':', '"', '|', '?', '*', '_', '!', 'x'.repeat(120)],
  ...[
    'con',
    'AUX',
    'nul',
    'COM1',
    'lpt²',
    'conin$',
    '.txt',
    `.${'y'.repeat(31)}`,
    `.${'z'.repeat(40)}`,
    ' '.repeat(60),
  ],
  ...[
    '\0',
    '\n',
    '\x7f',
    '\x85',
    '\u200b',
    '\u202e',
    '\u2066',
    '\u2028',
    '\ufeff',
    '\u00a0',
    '\u3000',
    '\u061c',
    '\ufffe',
  ],
  ...[
    '\ud800',
    '\udc00',
    '\ud83d',
    '\ude00',
    '\u{e0067}',
    '\u0301',
    '\u0301'.repeat(200),
    'e',
    'é',
    'ﬁ',
    '\u0958',
    '\u212a',
  ],
  ...[
    family,
    family.repeat(14),
    '👨',
    '👩',
    '🏽',
    '🏴',
    '🇩',
    '🇪',
    '\u200d',
    '\ufe0f',
    '\u20e3',
    '1',
    '#',
    '漢'.repeat(50),
  ],
  ...['\u1100', '\u1161', '\u11a8'],
];

const device = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³]) *(\..*)?$/i;

const names = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: anyText({ maxLength: 300 }) },
);

describe('the name of an uploaded file', () => {
  it('stays as it is when there is nothing wrong with it', () => {
    for (const name of [
      'photo.jpg',
      'Bericht (endgültig), 2. Fassung – 100 %.tar.gz',
      'समाचार.pdf',
      '写真.png',
      `${family} im ❤️ 1️⃣ 🏳️‍🌈 👩🏽‍🚀.png`,
      'a  b',
      '-rf',
      'concert.txt',
    ]) {
      assert.equal(cleanFilename(name), name);
    }
  });

  it('is the last part of a path, of whatever system', () => {
    assert.equal(cleanFilename('../../etc/passwd'), 'passwd');
    assert.equal(cleanFilename('C:\\Users\\me\\photo.jpg'), 'photo.jpg');
    assert.equal(cleanFilename('a/b\\c.txt'), 'c.txt');
    assert.equal(cleanFilename('%2e%2e%2fpasswd'), '%2e%2e%2fpasswd');
  });

  it('is "file" when nothing is left', () => {
    for (const name of ['', '.', '..', '...', '/', 'a/', '..\\', ' ', '\0', '\u200b', '\ud800', '. .\u3000']) {
      assert.equal(cleanFilename(name), 'file', JSON.stringify(name));
    }
  });

  it('is in NFC', () => {
    assert.equal(cleanFilename('e\u0301te\u0301.png'), 'été.png');
  });

  it('shows all that it is made of', () => {
    assert.equal(cleanFilename('\u202Egnp.exe'), 'gnp.exe');
    assert.equal(cleanFilename('photo\u2066gpj\u2069.exe'), 'photogpj.exe');
    assert.equal(cleanFilename('a\0b\x1f\x7f\x9fc\u200b\ufeff\u00ad.txt'), 'abc.txt');
    assert.equal(cleanFilename('a\r\nb\tc\u2028d.txt'), 'a b c d.txt');
    assert.equal(cleanFilename('a\u200db\ufe0f.txt'), 'ab.txt');
    assert.equal(cleanFilename('a\ud800b.txt'), 'ab.txt');
  });

  it('has none of the characters and endings that Windows refuses', () => {
    assert.equal(cleanFilename('a<b>c:d"e|f?g*h.txt'), 'a_b_c_d_e_f_g_h.txt');
    assert.equal(cleanFilename('a.txt. . '), 'a.txt');
    assert.equal(cleanFilename(' .htaccess'), 'htaccess');
  });

  it('is no device of Windows', () => {
    assert.equal(cleanFilename('CON'), 'CON_');
    assert.equal(cleanFilename('aux.txt'), 'aux_.txt');
    assert.equal(cleanFilename('com1 .tar.gz'), 'com1_.tar.gz');
    assert.equal(cleanFilename('LPT¹'), 'LPT¹_');
    assert.equal(cleanFilename('nul\u200b.png'), 'nul_.png');
    // A device name only once it is cut, because the accents form one letter with the blank before them.
    assert.equal(cleanFilename(`con ${'\u0301'.repeat(300)}.txt`), 'con_.txt');
  });

  it('is cut to 255 bytes at whole letters, the extension kept', () => {
    assert.equal(cleanFilename(`${'x'.repeat(300)}.jpeg`), `${'x'.repeat(250)}.jpeg`);
    assert.equal(cleanFilename(`${'x'.repeat(300)}`), 'x'.repeat(255));
    assert.equal(cleanFilename(`${'é'.repeat(200)}.png`), `${'é'.repeat(125)}.png`);
    assert.equal(cleanFilename(`${family.repeat(200)}.png`), `${family.repeat(13)}.png`);
    assert.equal(cleanFilename(`a${'\u0301'.repeat(1000)}.png`).slice(-4), '.png');
    assert.equal(cleanFilename(`a.${'x'.repeat(300)}`), `a.${'x'.repeat(253)}`);
    assert.equal(cleanFilename(`${'x'.repeat(249)} . .jpeg`), `${'x'.repeat(249)}.jpeg`);
    assert.equal(cleanFilename(`${'x'.repeat(1_000_000)}.jpeg`), `${'x'.repeat(250)}.jpeg`);
  });

  it('is safe everywhere whatever was given, and given again the same', () => {
    fc.assert(
      fc.property(names, (given) => {
        const name = cleanFilename(given);
        assert.equal(cleanFilename(name), name);
        assert.equal(name.normalize('NFC'), name);
        assert.ok(name !== '' && Buffer.byteLength(name) <= 255);
        assert.doesNotMatch(name, /[/\\<>:"|?*\p{Cc}\p{Cs}\p{Bidi_Control}]|^[. ]|[. ]$/u);
        assert.doesNotMatch(name, device);
        assert.equal(decodeURIComponent(encodeURIComponent(name)), name);
      }),
      { numRuns: 2000 },
    );
  });
});
