import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { wholeText } from '../../server/http/whole-text.ts';
import { neverListening, portOf } from '../../server/running/http-server.ts';

const texts: Record<string, string> = {
  ascii: JSON.stringify('plain'),
  other: JSON.stringify('ä € 😀 \u2028'),
  manyAscii: JSON.stringify('plain '.repeat(5000)),
  manyOther: JSON.stringify('ä€😀 '.repeat(5000)),
};
const server = neverListening();
server.route({
  method: 'GET',
  path: '/{name}',
  handler: ({ params: { name } }, h) =>
    wholeText(h, texts[String(name)] ?? '')
      .type('application/json')
      .etag('1'),
});
await server.start();
server.listener.listen({ host: '127.0.0.1', port: 0 });
await once(server.listener, 'listening');
after(() => server.listener.close());

async function ask(name: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = request({ port: portOf(server.listener), path: `/${name}`, method, headers, agent: false }).end();
  const [answer] = await once(sent, 'response');
  const { statusCode: status, headers: got } = answer;
  return { status, headers: got, body: await buffer(answer) };
}

describe('A text that is sent whole', () => {
  for (const [name, text] of Object.entries(texts)) {
    it(`comes as UTF-8 with its length, or compressed: ${name}`, async () => {
      const { status, headers, body } = await ask(name);
      assert.equal(status, 200);
      assert.equal(body.toString(), text);
      assert.equal(headers['content-length'], String(Buffer.byteLength(text)));
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');

      const packed = await ask(name, { 'accept-encoding': 'gzip' });
      const isLong = text.length > 4096;
      assert.equal(packed.headers['content-encoding'], isLong ? 'gzip' : undefined);
      assert.equal(packed.headers.etag, isLong ? '"1-gzip"' : '"1"');
      assert.equal((isLong ? gunzipSync(packed.body) : packed.body).toString(), text);
    });
  }

  it('stays away from the answer to HEAD, which has its length, and from a 304', async () => {
    const head = await ask('other', {}, 'HEAD');
    assert.equal(head.headers['content-length'], String(Buffer.byteLength(texts.other ?? '')));
    assert.equal(head.body.length, 0);
    const known = await ask('other', { 'if-none-match': '"1"' });
    assert.deepEqual([known.status, known.body.length], [304, 0]);
  });

  it('leaves the next answer of the connection in order', async () => {
    const socket = connect(portOf(server.listener), '127.0.0.1');
    socket.end('GET /manyOther HTTP/1.1\r\nhost: x\r\n\r\nGET /ascii HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    const all = (await buffer(socket)).toString();
    assert.ok(all.indexOf(texts.manyOther ?? '?') > 0);
    assert.ok(all.endsWith(`\r\n\r\n${texts.ascii}`));
  });
});
