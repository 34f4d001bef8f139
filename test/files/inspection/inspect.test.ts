import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { DomainError } from '../../../config/errors.ts';
import type { UploadOptions } from '../../../config/model.ts';
import { servingOf } from '../../../server/documents/media/serving.ts';
import { type Inspection, inspectFile } from '../../../server/files/inspection/inspect.ts';
import * as samples from './samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
after(() => rmSync(folder, { recursive: true }));

const any: UploadOptions = { maxFileSize: 10_000_000, mimeTypes: null };

/** Shows a file to the inspection in chunks of `chunkBytes`, and writes it to the path at which it is then measured. */
async function inspect(content: Buffer | string, options = any, chunkBytes = 50_000): Promise<Inspection> {
  const bytes = Buffer.from(content as Buffer);
  const path = join(folder, 'file');
  const { look, finish } = inspectFile(options);
  // One chunk's memory for all, as a stream may have it.
  const chunk = Buffer.alloc(chunkBytes);
  for (let at = 0; at < bytes.length; at += chunkBytes)
    await look(chunk.subarray(0, bytes.copy(chunk, 0, at, at + chunkBytes)));
  writeFileSync(path, bytes);
  return finish(path);
}

async function typeOf(content: Buffer | string, chunkBytes?: number): Promise<string> {
  return (await inspect(content, any, chunkBytes)).mimeType;
}

/** The encodings of Unicode that a byte order mark tells. */
const encodings: Record<string, (text: string) => Buffer> = {
  'UTF-16LE': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16BE': (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
};

describe('the type of a file', () => {
  it('is that of its signature', async () => {
    const types: [Buffer, string][] = [
      [samples.png(), 'image/png'],
      [samples.png(2, 3, [samples.pngChunk('acTL', Buffer.alloc(8))]), 'image/png'],
      [samples.jpeg(), 'image/jpeg'],
      [samples.gif(), 'image/gif'],
      [samples.webp(), 'image/webp'],
      [samples.bmp(), 'image/bmp'],
      [samples.heif('avif'), 'image/avif'],
      [samples.heif('heic'), 'image/heic'],
      [samples.ico(), 'image/vnd.microsoft.icon'],
      [samples.tiff(), 'image/tiff'],
      [samples.pdf, 'application/pdf'],
      [samples.zip({ 'a.txt': 'a' }), 'application/zip'],
      [samples.docx, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
      // The entry that tells the type comes at the end, behind the bytes that are looked at.
      [
        samples.zip({ 'word/document.xml': 'x'.repeat(100_000), '[Content_Types].xml': '' }),
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      ],
      [samples.gzip, 'application/gzip'],
      [samples.mp4, 'video/mp4'],
      [samples.mp3, 'audio/mpeg'],
      [samples.wav, 'audio/wav'],
      [samples.opus, 'audio/ogg'],
      [samples.woff2, 'font/woff2'],
      [samples.exe, 'application/x-msdownload'],
    ];
    for (const [content, type] of types) {
      assert.equal(await typeOf(content), type);
      if (content.length < 1000) assert.equal(await typeOf(content, 1), type);
      assert.equal(await typeOf(Buffer.concat([content, Buffer.alloc(70_000)])), type);
    }
  });

  it('is text/plain for all that is UTF-8 to its end', async () => {
    assert.equal(await typeOf('a'), 'text/plain');
    assert.equal(await typeOf('\ufeffGrüße 👋\r\n\t\x1b[1m\f'), 'text/plain');
    assert.equal(await typeOf('{"a": [1, 2]}'), 'text/plain');
    assert.equal(await typeOf('<note>no XML without its declaration</note>'), 'text/plain');
    const letters = `${'x'.repeat(70_000)}é漢👋`;
    for (let chunkBytes = 1; chunkBytes < 6; chunkBytes += 1)
      assert.equal(await typeOf('é漢👋ab', chunkBytes), 'text/plain');
    for (let cut = 0; cut < 12; cut += 1) assert.equal(await typeOf(letters, 70_000 + cut), 'text/plain');
  });

  it('is no signature of a text, whatever letters it begins with', async () => {
    for (const text of [
      'BMW builds cars',
      'GIF is a format of images',
      'MZ, a pair of letters',
      'MAC addresses',
      'ID3 tags',
      'solid advice',
      'Not free software',
      'FORMs',
      '%!TEX program = xelatex',
      `G${'.'.repeat(187)}G`,
      `${' '.repeat(36)}acsp`,
      '\ufeffGIF89a',
    ]) {
      assert.equal(await typeOf(text), 'text/plain', text);
    }
  });

  it('is that of the few formats that are texts', async () => {
    assert.equal(await typeOf('%PDF-1.4\n1 0 obj'), 'application/pdf');
    assert.equal(await typeOf('%!PS-Adobe-3.0\n'), 'application/postscript');
    assert.equal(await typeOf('{\\rtf1 a}'), 'application/rtf');
    assert.equal(await typeOf('WEBVTT\n\n00:01.000 --> 00:02.000\nHello'), 'text/vtt');
    assert.equal(await typeOf('\ufeffBEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n'), 'text/calendar');
    assert.equal(await typeOf('solid cube\n  facet normal 0 0 1\n'), 'model/stl');
  });

  it('is application/octet-stream for the rest', async () => {
    const late = Buffer.concat([Buffer.from('text '.repeat(40_000)), Buffer.from([0])]);
    for (const content of [
      Buffer.from('a\0b'),
      Buffer.from('a\x08b'),
      Buffer.from('caf\xe9', 'latin1'),
      Buffer.from('é').subarray(0, 1),
      Buffer.from('👋').subarray(0, 3),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from([0xed, 0xa0, 0x80]),
      late,
      Buffer.concat([Buffer.from('x'.repeat(65_536)), Buffer.from([0xe2])]),
      samples.png().subarray(0, 8),
      Buffer.concat([Buffer.from('\ufeff'), samples.png()]),
      ...Object.values(encodings).map((encode) => encode('a text')),
    ]) {
      assert.equal(await typeOf(content), 'application/octet-stream', content.subarray(0, 20).toString('latin1'));
    }
    assert.equal(await typeOf(late, 1000), 'application/octet-stream');
  });

  it('is text/html for what a browser would take for it', async () => {
    for (const tag of [
      'html',
      'head',
      'script',
      'iframe',
      'h1',
      'div',
      'font',
      'table',
      'a',
      'style',
      'title',
      'b',
      'body',
      'br',
      'p',
    ]) {
      assert.equal(await typeOf(`<${tag}>`), 'text/html', tag);
      assert.equal(await typeOf(` \t\r\n\f<${tag.toUpperCase()} x`), 'text/html', tag);
      assert.equal(await typeOf(`<${tag}x`), 'text/plain', tag);
    }
    for (const text of [
      '<!DOCTYPE html>',
      '<!doctype HTML PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html>',
      '\ufeff\n<!doctype html>',
      '<!-- a comment --> <html>',
      '<!-- one that does not end',
      '<!--><script>alert(1)</script>',
      '<?php echo 1 ?><html>',
      '<!doctype other><script>',
      '<script\n>',
      '<html/>',
    ]) {
      assert.equal(await typeOf(text), 'text/html', text);
    }
    assert.equal(await typeOf(Buffer.from('<html>\0\xff', 'latin1')), 'text/html');
    for (const encode of Object.values(encodings))
      assert.equal(await typeOf(encode('<script>alert(1)</script>')), 'text/html');
  });

  it('is image/svg+xml for what has that root', async () => {
    for (const text of [
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '<svg>',
      '\ufeff\n<svg\n>',
      '<?xml version="1.0"?><svg/>',
      '<?xml version="1.0"?><!-- made by > hand --><?xml-stylesheet href="a"?>\n<!DOCTYPE svg PUBLIC "a" "b"><svg>',
      '<!-- a comment --><svg>',
      '<!DOCTYPE svg [ <!ENTITY ns ">"> <!-- don\'t > --> ]>\n<svg>',
      '<!DOCTYPE svg [ <!ENTITY % a "',
      '<s:svg xmlns:s="http://www.w3.org/2000/svg">',
      '<svg onload="alert(1)"><script>alert(1)</script></svg>',
    ]) {
      assert.equal(await typeOf(text), 'image/svg+xml', text);
    }
    for (const encode of Object.values(encodings))
      assert.equal(await typeOf(encode('<?xml version="1.0"?><svg/>')), 'image/svg+xml');
    assert.equal(await typeOf('<svgs>'), 'text/plain');
  });

  it('is that of other XML by its declaration', async () => {
    assert.equal(await typeOf('<?xml version="1.0"?><rss/>'), 'application/xml');
    assert.equal(await typeOf('<?xml version="1.0"?><script/>'), 'application/xml');
    assert.equal(
      await typeOf('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'),
      'application/xhtml+xml',
    );
    assert.equal(await typeOf('<?xml version="1.0"?><!DOCTYPE html PUBLIC "a" "b"><html/>'), 'application/xhtml+xml');
    assert.equal(await typeOf('<?xml version="1.0"'), 'application/xml');
  });

  it('does not run a file that is HTML and something else: browsers go by the served type', async () => {
    const script = '<html><script>alert(1)</script>';
    for (const content of [
      Buffer.from(`GIF89a/*${script}*/=1`),
      Buffer.concat([samples.gif(), Buffer.from(script)]),
      samples.jpeg(2, 3, 1, [samples.jpegSegment(0xfe, Buffer.from(script))]),
      samples.png(2, 3, [samples.pngChunk('tEXt', Buffer.from(`a\0${script}`))]),
      Buffer.concat([Buffer.from(`junk ${script}\n`), samples.pdf]),
      Buffer.from(`%PDF-1.4\n${script}`),
      Buffer.from(`${' '.repeat(70_000)}${script}`),
      Buffer.from(`\x1b(B${script}`),
      Buffer.from(`+ADw-script+AD4-${script}`),
      Buffer.from(`\ufeff${script}`, 'utf16le').subarray(2),
      Buffer.concat([Buffer.from([0xff, 0xfe, 0, 0]), Buffer.from(script)]),
    ]) {
      const type = await typeOf(content);
      assert.doesNotMatch(type, /html|xml/);
      assert.doesNotMatch(servingOf(type).contentType, /html|xml/);
    }
    for (const content of [script, `<svg>${script}</svg>`, `<!-- GIF89a -->${script}`]) {
      assert.match(String(servingOf(await typeOf(content)).policy), /^sandbox;/);
    }
  });
});

describe('what is refused', () => {
  const refused = (message: RegExp) => (error: DomainError) => {
    assert.equal(error.code, 'validation_failed');
    assert.match(error.message, message);
    assert.partialDeepStrictEqual(error.errors, [{ field: 'file', in: 'body', message: error.message }]);
    return true;
  };

  it('is an empty file, whatever its name says', async () => {
    await assert.rejects(inspect(''), refused(/^file must not be empty$/));
    await assert.rejects(inspect('', { ...any, mimeTypes: ['image/*'] }), refused(/^file must not be empty$/));
  });

  it('is the byte that passes the limit', async () => {
    for (const chunkBytes of [1, 3, 10, 50_000]) {
      for (const size of [9, 10]) await inspect('x'.repeat(size), { ...any, maxFileSize: 10 }, chunkBytes);
      await assert.rejects(inspect('x'.repeat(11), { ...any, maxFileSize: 10 }, chunkBytes), {
        code: 'file_too_large',
        message: 'file must be at most 10 bytes',
      });
    }
    const png = samples.png();
    await inspect(png, { ...any, maxFileSize: png.length });
    await assert.rejects(inspect(png, { ...any, maxFileSize: png.length - 1 }), { code: 'file_too_large' });
  });

  it('is a type that is not allowed, by what the bytes are', async () => {
    const images = { ...any, mimeTypes: ['image/png', 'image/webp'] };
    assert.equal((await inspect(samples.png(), images)).mimeType, 'image/png');
    await assert.rejects(
      inspect('<!DOCTYPE html>', images),
      refused(/^file must be of type "image\/png", "image\/webp"; by its bytes it is "text\/html"$/),
    );
    await assert.rejects(inspect(samples.gif(), images), refused(/it is "image\/gif"$/));
    await assert.rejects(inspect('a', images), refused(/it is "text\/plain"$/));
    await assert.rejects(inspect(Buffer.from('a\0'), images), refused(/it is "application\/octet-stream"$/));
    await assert.rejects(
      inspect(Buffer.from('caf\xe9', 'latin1'), { ...any, mimeTypes: ['text/*'] }),
      refused(/it is "application\/octet-stream"$/),
    );
  });

  it('is refused as soon as the first 64 KiB show it', async () => {
    const chunk = (content: Buffer | string) =>
      Buffer.concat([Buffer.from(content as Buffer), Buffer.alloc(65_536, 'x')]);
    const look = (content: Buffer | string, mimeTypes: string[]) =>
      inspectFile({ ...any, mimeTypes }).look(chunk(content));
    await assert.rejects(async () => look(samples.exe, ['image/*']), refused(/"application\/x-msdownload"/));
    await assert.rejects(async () => look('<html>', ['image/*']), refused(/"text\/html"/));
    await assert.rejects(async () => look('a text', ['image/*']), refused(/"text\/plain"/));
    await assert.rejects(async () => look('a\0', ['image/*', 'text/plain']), refused(/"application\/octet-stream"/));
    await look('a text', ['text/plain']);
    // May still be no text in the end.
    await look('a text', ['application/octet-stream']);
    const text = inspectFile({ ...any, mimeTypes: ['text/plain'] });
    await text.look(chunk('a text'));
    await assert.rejects(async () => text.look(Buffer.from([0])), refused(/"application\/octet-stream"/));
  });
});

describe('width and height', () => {
  async function sizeOf(content: Buffer | string): Promise<[number | null, number | null]> {
    const { width, height } = await inspect(content);
    return [width, height];
  }

  it('are those of an image, in every format that browsers know', async () => {
    for (const content of [
      samples.png(),
      samples.jpeg(),
      samples.gif(),
      samples.bmp(),
      samples.webp(2, 3, 'VP8 '),
      samples.webp(2, 3, 'VP8L'),
      samples.webp(2, 3, 'VP8X'),
      samples.heif('avif'),
      samples.heif('heic'),
      samples.ico(),
      samples.tiff(),
      samples.jp2(),
      samples.psd(),
    ]) {
      assert.deepEqual(await sizeOf(content), [2, 3], content.toString('latin1', 0, 12));
    }
    assert.deepEqual(await sizeOf(samples.jxl), [8, 8]);
    assert.deepEqual(await sizeOf(samples.jxlInBoxes), [8, 8]);
    assert.deepEqual(
      await sizeOf(
        samples.ico([
          [16, 16],
          [256, 256],
          [32, 32],
        ]),
      ),
      [256, 256],
    );
  });

  it('are as a browser shows it: turned and cut', async () => {
    for (const orientation of [1, 2, 3, 4]) assert.deepEqual(await sizeOf(samples.jpeg(20, 30, orientation)), [20, 30]);
    for (const orientation of [5, 6, 7, 8]) assert.deepEqual(await sizeOf(samples.jpeg(20, 30, orientation)), [30, 20]);
    for (const orientation of [0, 9, 65_535])
      assert.deepEqual(await sizeOf(samples.jpeg(20, 30, orientation)), [20, 30]);
    const { heif, ispe, irot, clap } = samples;
    assert.deepEqual(await sizeOf(heif('avif', [ispe(20, 30), irot(1)])), [30, 20]);
    assert.deepEqual(await sizeOf(heif('heic', [ispe(20, 30), irot(2)])), [20, 30]);
    assert.deepEqual(await sizeOf(heif('heic', [ispe(20, 30), clap(19, 29), irot(3)])), [29, 19]);
  });

  it('are found behind much else, in the first MiB', async () => {
    const profile = samples.jpegSegment(0xe2, Buffer.alloc(60_000, 1));
    assert.deepEqual(await sizeOf(samples.jpeg(20, 30, 6, Array(10).fill(profile))), [30, 20]);
    assert.deepEqual(await sizeOf(samples.jpeg(20, 30, 6, Array(20).fill(profile))), [null, null]);
  });

  it('are pixels for an SVG, of its own size or else its viewBox', async () => {
    const sizes: [string, [number | null, number | null]][] = [
      ['<svg width="20" height="30.4px" viewBox="0 0 1 1">', [20, 30]],
      [
        "<?xml version='1.0'?>\n<!-- <svg width='1' height='1'> --><s:svg\n  width = '1in'\n height='2.54cm'/>",
        [96, 96],
      ],
      ['<svg viewBox="0 0 20 30">', [20, 30]],
      ['<svg width="100%" height="100%" viewBox="0,0,20.5,30">', [21, 30]],
      ['<svg width="10" viewBox="0 0 20 30">', [10, 15]],
      ['<svg height="15" viewBox=" -5 -5  20 30 ">', [10, 15]],
      ['<svg data-width="7" stroke-width="9" width="2e1" height="3E1" title="a > b">', [20, 30]],
      ['<svg title=">" width="20" height="30">', [20, 30]],
      ['<!DOCTYPE svg [<!ENTITY a "<svg width=\'1\' height=\'1\'>">]><svg width="20" height="30">', [20, 30]],
      ['\ufeff<svg width="20" height="30">', [20, 30]],
      ['<svg>', [null, null]],
      ['<svg width="20">', [null, null]],
      ['<svg width="100%" height="30">', [null, null]],
      ['<svg width="0" height="30">', [null, null]],
      ['<svg width="-1" height="30">', [null, null]],
      ['<svg width="1e400" height="30">', [null, null]],
      ['<svg width="20" viewBox="0 0 20 0">', [null, null]],
      ['<svg viewBox="0 0 constructor 30">', [null, null]],
      ['<svg width="20constructor" height="30">', [null, null]],
      ['<svg><a width="20" height="30"/>', [null, null]],
    ];
    for (const [text, size] of sizes) assert.deepEqual(await sizeOf(text), size, text);
    for (const encode of Object.values(encodings))
      assert.deepEqual(await sizeOf(encode('<svg width="20" height="30">')), [20, 30]);
  });

  it('are null for anything but an image, and if they cannot be read', async () => {
    for (const content of [
      'a text',
      '<!DOCTYPE html>',
      samples.pdf,
      samples.icns(),
      samples.png().subarray(0, 20),
      samples.png(0, 3),
      samples.jpeg().subarray(0, 27),
      samples.heif('avif', []),
      samples.heif('avif', [samples.irot(1)]),
      samples.heif('avif', [samples.ispe(20, 30), samples.clap(0, 1)]),
      samples.gif(0, 0),
      // Without its height: the bytes behind it in memory are not one.
      samples.gif().subarray(0, 8),
    ]) {
      assert.deepEqual(await sizeOf(content), [null, null]);
    }
  });

  it('cost nothing for the header of an image that would fill the memory', async () => {
    const most = 2 ** 31 - 1;
    assert.deepEqual(await sizeOf(samples.pngHeader(most, most)), [most, most]);
    assert.deepEqual(await sizeOf(samples.pngHeader(2 ** 32 - 1, 1)), [null, null]);
    assert.deepEqual(await sizeOf(samples.webp(16_384, 16_384, 'VP8L')), [16_384, 16_384]);
  });

  it('end for every header, whatever was done to it', async () => {
    const whole = [
      samples.png(),
      samples.jpeg(20, 30, 6),
      samples.gif(),
      samples.bmp(),
      samples.webp(),
      samples.heif('avif', [samples.ispe(20, 30), samples.clap(19, 29), samples.irot(1)]),
      samples.jp2(),
      samples.jxlInBoxes,
      samples.ico(),
      samples.tiff(),
      samples.icns(),
      samples.docx,
      samples.mp4,
      samples.mp3,
      Buffer.from(
        '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "b">]><svg width="20" height="30" viewBox="0 0 1 1"/>',
      ),
    ];
    // Every byte of every header in turn becomes what headers break at.
    let count = 0;
    for (const content of whole) {
      for (let at = 0; at < Math.min(content.length, 120); at += 1) {
        const changed = Buffer.from(content);
        changed[at] = [0, 0xff, 1, 0x80, 0x7f][(at + count) % 5] as number;
        count += 1;
        const { width, height } = await inspect(at % 7 === 0 ? changed.subarray(0, at + 1) : changed);
        assert.equal(width === null, height === null);
        assert.ok(width === null || (Number.isInteger(width) && width > 0 && width < 2 ** 31));
      }
    }
    assert.ok(count > 800);
  });

  it('end for headers that are made to take long', async () => {
    const long = [
      samples.heif('avif', Array(120).fill(samples.ispe(2, 3))),
      Buffer.concat([
        samples.heif('avif').subarray(0, 24),
        Buffer.alloc(1_000_000, Buffer.from('0000000861616161', 'hex')),
      ]),
      Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(1_000_000, Buffer.from('0002ffe1', 'hex'))]),
      Buffer.concat([Buffer.from('icns\x7f\xff\xff\xff', 'latin1'), Buffer.alloc(1_000_000)]),
      Buffer.from(`<svg ${'<svg "'.repeat(100_000)}`),
      Buffer.from(`<svg a='${' width="'.repeat(100_000)}`),
      Buffer.from(`<!DOCTYPE svg [${'<!--'.repeat(20_000)}`),
      Buffer.from('<!--'.repeat(20_000)),
    ];
    for (const content of long) await sizeOf(content);
  });

  it('of an SVG are read in a time that grows with what is written, not with its square', async () => {
    const svg = (digits: number) => `<svg width="${'1'.repeat(digits)}!" height="1">`;
    // Processor time, which does not depend on other processes.
    const timeOf = async (content: string) => {
      const begun = process.cpuUsage();
      for (let count = 0; count < 10; count += 1) assert.deepEqual(await sizeOf(content), [null, null]);
      const { user, system } = process.cpuUsage(begun);
      return user + system;
    };
    await timeOf(svg(8));
    assert.ok((await timeOf(svg(8000))) < 1_000_000);
  });
});
