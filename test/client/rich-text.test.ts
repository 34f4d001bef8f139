import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { richTextToHtml, richTextToText } from '../../client/index.ts';

const doc = (...content: unknown[]) => ({ type: 'doc', content });
const node = (type: string, ...content: unknown[]) => ({ type, content });
const text = (value: string, ...marks: unknown[]) => ({
  type: 'text',
  text: value,
  ...(marks.length > 0 ? { marks } : {}),
});
const linkTo = (attrs: object) => text('x', { type: 'link', attrs });
const htmlOf = (...content: unknown[]) => richTextToHtml(doc(...content));

describe('Rich text as HTML', () => {
  it('has an element for each node and mark of the editor', () => {
    assert.equal(
      htmlOf(
        { type: 'heading', attrs: { level: 2 }, content: [text('Title')] },
        node(
          'paragraph',
          text('plain '),
          text('both', { type: 'bold' }, { type: 'italic' }),
          { type: 'hardBreak' },
          text('x', { type: 'code' }),
        ),
        node('bulletList', node('listItem', node('paragraph', text('one')))),
        { type: 'orderedList', attrs: { start: 3 }, content: [node('listItem', node('paragraph', text('three')))] },
        node('blockquote', node('paragraph', text('said', { type: 'underline' }, { type: 'strike' }))),
        { type: 'codeBlock', attrs: { language: 'js' }, content: [text('a < b')] },
        { type: 'horizontalRule' },
        { type: 'image', attrs: { src: '/a.png', alt: 'A "b"', title: 'c' } },
      ),
      '<h2>Title</h2><p>plain <strong><em>both</em></strong><br><code>x</code></p><ul><li><p>one</p></li></ul>' +
        '<ol start="3"><li><p>three</p></li></ol><blockquote><p><u><s>said</s></u></p></blockquote>' +
        '<pre><code class="language-js">a &lt; b</code></pre><hr><img src="/a.png" alt="A &quot;b&quot;" title="c">',
    );
  });

  it('escapes all text', () => {
    assert.equal(
      htmlOf(node('paragraph', text(`<script>alert("1" & '2')</script>`))),
      '<p>&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;</p>',
    );
    assert.equal(
      htmlOf({ type: 'codeBlock', attrs: { language: '"><script>' } }),
      '<pre><code class="language-&quot;&gt;&lt;script&gt;"></code></pre>',
    );
  });

  it('follows only addresses that lead to pages, mail, telephones and its own site', () => {
    const followed = [
      'http://a.example',
      'HTTPS://a.example/?x=1#y',
      'mailto:a@b.example',
      'tel:+4930',
      '/',
      '/a/b',
      '#part',
    ];
    for (const href of followed) assert.equal(htmlOf(linkTo({ href })), `<a href="${href}">x</a>`, href);
    const others = [
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,x',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'vbscript:x',
      'a/b',
      '',
      null,
      5,
      { x: 1 },
    ];
    for (const href of others) assert.equal(htmlOf(linkTo({ href })), 'x', String(href));
    for (const src of ['javascript:x', 'mailto:a@b.example', '#x', 'data:image/svg+xml,x']) {
      assert.equal(htmlOf({ type: 'image', attrs: { src } }), '', src);
    }
  });

  it('asks where a document is that a link or a picture names', () => {
    const asked: unknown[] = [];
    const value = doc(
      node('paragraph', linkTo({ collection: 'posts', id: '1' }), {
        type: 'image',
        attrs: { collection: 'files', id: '2', alt: 'a' },
      }),
    );
    const resolve = (target: { collection: string; id: string }) => {
      asked.push(target);
      return `/${target.collection}/${target.id}`;
    };
    assert.equal(richTextToHtml(value, { resolve }), '<p><a href="/posts/1">x</a><img src="/files/2" alt="a"></p>');
    assert.deepEqual(asked, [
      { collection: 'posts', id: '1' },
      { collection: 'files', id: '2' },
    ]);
    assert.equal(richTextToHtml(value), '<p>x</p>');
    assert.equal(richTextToHtml(value, { resolve: () => 'javascript:alert(1)' }), '<p>x</p>');
  });

  it('gives the content of nodes that it does not know, and nothing of other shapes', () => {
    assert.equal(htmlOf(node('callout', node('paragraph', text('kept', { type: 'sparkle' })))), '<p>kept</p>');
    assert.equal(htmlOf(node('constructor', text('a')), node('__proto__', text('b'))), 'ab');
    for (const value of [
      null,
      undefined,
      'text',
      5,
      [],
      {},
      { type: 'paragraph' },
      { type: 'doc' },
      { type: 'doc', content: 'x' },
    ]) {
      assert.equal(richTextToHtml(value), '');
      assert.equal(richTextToText(value), '');
    }
  });

  it('is nothing but known elements, whatever the value is', () => {
    const known =
      /^(?:<\/?(?:p|ul|ol|li|blockquote|h[1-6]|pre|code|strong|em|u|s|a|hr|br|img)(?: (?:href|src|alt|title|class|start)="[^"<>]*")*>|[^<>])*$/;
    const words = fc.oneof(fc.string(), fc.constantFrom('javascript:x', '"><script>', 'https://a.example/"x'));
    const types = fc.constantFrom(
      'doc',
      'paragraph',
      'heading',
      'text',
      'link',
      'image',
      'codeBlock',
      'orderedList',
      'bold',
      'other',
    );
    const leaf = {
      type: types,
      text: words,
      attrs: fc.dictionary(
        fc.constantFrom('href', 'src', 'alt', 'level', 'start', 'language', 'id', 'collection'),
        fc.oneof(words, fc.integer(), fc.jsonValue()),
      ),
    };
    // Without an end of the depth, a tree is now and then so large that it takes half a minute.
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.record(leaf, { requiredKeys: ['type'] }),
        fc.record(
          {
            ...leaf,
            content: fc.array(tie('tree'), { maxLength: 2 }),
            marks: fc.array(tie('tree'), { maxLength: 1 }),
          },
          { requiredKeys: ['type', 'content'] },
        ),
      ),
    }));
    fc.assert(
      fc.property(fc.array(tree, { maxLength: 4 }), (content) => {
        const html = richTextToHtml({ type: 'doc', content }, { resolve: ({ id }) => id });
        assert.match(html, known);
        assert.doesNotMatch(html, /(?:href|src)="\s*(?:javascript|data):/i);
        richTextToText({ type: 'doc', content });
      }),
    );
  });
});

describe('Rich text as text', () => {
  it('is a line for each block', () => {
    const value = doc(
      { type: 'heading', attrs: { level: 1 }, content: [text('Title')] },
      node('paragraph', text('some '), text('words', { type: 'bold' }), { type: 'hardBreak' }, text('more')),
      node(
        'bulletList',
        node('listItem', node('paragraph', text('one'))),
        node('listItem', node('paragraph', text('two'))),
      ),
    );
    assert.equal(richTextToText(value), 'Title\nsome words\nmore\none\ntwo');
  });

  it('ends if nodes are nested deeper than any value that is taken', () => {
    let value: unknown = text('deep');
    for (let level = 0; level < 100_000; level++) value = node('blockquote', value);
    assert.equal(richTextToText(doc(value)), '');
    assert.match(richTextToHtml(doc(value)), /^(<blockquote>)+(<\/blockquote>)+$/);
  });
});
