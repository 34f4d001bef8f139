import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { schemaStream } from '../../../events/catalogue.ts';
import { runHere } from '../../helpers/in-process.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually, logLines, recordedEvents, useStarted } from '../../helpers/shared.ts';
import { begin, type Files, filesOf, markOf, posts, reloadUnderLoad, write } from './reloading.ts';

const service = useStarted((t) => begin(t, 'serve'));

describe('A configuration is reloaded', () => {
  it('while clients read and write, of whom none notices', () => reloadUnderLoad(service));

  it('which turns the admin application off and on again', async () => {
    const { folder, reload, url } = service;
    const led = () => fetch(`${url}/`, { redirect: 'manual', headers: { accept: 'text/html' } });
    const typeOf = async () => (await fetch(`${url}/admin/c/posts`)).headers.get('content-type');
    write(folder, filesOf('one'));
    await reload();
    assert.deepEqual([(await led()).status, await typeOf()], [302, 'text/html; charset=utf-8']);
    const config = filesOf('one')['annals.config.ts'] ?? '';
    write(folder, { 'annals.config.ts': config.replace('bcryptCost: 4', 'bcryptCost: 4, admin: false') });
    const { code, stdout } = await reload();
    assert.deepEqual([code, /^ *admin was turned off$/m.test(stdout)], [0, true], stdout);
    assert.deepEqual([(await led()).status, await typeOf()], [404, 'application/json; charset=utf-8']);
    write(folder, filesOf('one'));
    assert.equal((await reload()).code, 0);
    assert.deepEqual([(await led()).status, await typeOf()], [302, 'text/html; charset=utf-8']);
  });
});

describe('Nothing is reloaded', () => {
  it('of a wrong configuration, and the reason is told', async () => {
    write(service.folder, filesOf('one'));
    assert.equal((await service.reload()).code, 0);
    const schemas = recordedEvents(service.data, schemaStream).length;
    const { folder, reload, call, output } = service;
    const wrong: [Files, RegExp][] = [
      [
        { 'rules.ts': 'export const canRead = (: boolean => true;' },
        /annals\.config\.ts cannot be loaded: .*rules\.ts:1/s,
      ],
      [
        { 'rules.ts': 'throw new Error("no rules here"); export const canRead = null;' },
        /no rules here, at .*rules\.ts:1:7/,
      ],
      [{ 'hooks.cjs': 'exports.other = 1;' }, /annals\.config\.ts cannot be loaded: /],
      [{ 'rules.ts': 'process.exit(3); export const canRead = null;' }, /the thread that loads it exited with 3/],
      [{ 'limits.json': '{ "title": -1 }' }, /collections\.posts\.fields\.title\.maxLength: must be /],
    ];
    for (const [files, reason] of wrong) {
      write(folder, { ...filesOf('two'), ...files });
      const { code, stdout, stderr } = await reload();
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^not reloaded, the former configuration stays in force: the configuration is refused\n/);
      assert.match(stderr, reason);
      assert.equal(await markOf(service), 'one');
    }
    assert.equal(recordedEvents(service.data, schemaStream).length, schemas);
    const told = () => logLines({ output }).filter(({ level, msg }) => level === 50 && /was not reloaded/.test(msg));
    await eventually(() => told().length === wrong.length);
    // And it goes on from there.
    write(folder, filesOf('two'));
    assert.equal((await reload()).code, 0);
    assert.equal(await markOf(service), 'two');
    assert.equal((await call('GET', '/ready')).status, 200);
  });

  it('where documents would be stored in another way, which the next start does', async () => {
    write(service.folder, filesOf('one'));
    assert.equal((await service.reload()).code, 0);
    const schemas = recordedEvents(service.data, schemaStream).length;
    const { folder, reload, call, data } = service;
    const config = filesOf('two')['annals.config.ts'] ?? '';
    for (const [changed, told] of [
      [
        config.replace("fields: [{ name: 'title'", "fields: [{ name: 'x', type: 'text' }, { name: 'title'"),
        'collections.posts.fields.x was added',
      ],
      [
        config.replace("{ name: 'mark', type: 'text' }", "{ name: 'mark', type: 'number' }"),
        'collections.posts.fields.mark.type was changed',
      ],
      [
        config.replace("name: 'mark', type: 'text'", "name: 'mark', type: 'text', unique: true"),
        'collections.posts.fields.mark.unique was added',
      ],
      [config.replace("{ slug: 'users', auth: true", "{ slug: 'members', auth: true"), 'collections.users was removed'],
      [config.replace("{ slug: 'slow',", "{ slug: 'slow', auth: true,"), 'collections.slow.auth was added'],
    ] as const) {
      write(folder, { ...filesOf('two'), 'annals.config.ts': changed });
      const { code, stdout, stderr } = await reload();
      assert.deepEqual([code, stdout], [1, '']);
      const [heading, ...lines] = stderr.trimEnd().split('\n');
      assert.equal(heading, 'not reloaded, the former configuration stays in force: this needs a restart');
      assert.ok(lines.includes(told), stderr);
      assert.equal(await markOf(service), 'one');
    }
    assert.equal(recordedEvents(data, schemaStream).length, schemas);
    assert.equal((await call('GET', posts)).status, 200);
  });

  it('by which documents would show less, until the rename is written, or the loss accepted', async () => {
    write(service.folder, filesOf('one'));
    assert.equal((await service.reload()).code, 0);
    const { folder, reload, call, data, output } = service;
    assert.equal((await call('POST', posts, { title: 'kept' })).status, 201);
    const schemas = recordedEvents(data, schemaStream).length;
    const { total } = (await call('GET', `${posts}?limit=1`)).body;
    const config = filesOf('one')['annals.config.ts'] ?? '';
    const withField = (field: string) => {
      write(folder, { 'annals.config.ts': config.replace("name: 'mark', type: 'text'", field) });
    };
    withField("name: 'brand', type: 'text'");
    const refused = await reload();
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /refused\ndocuments would show less .*--accept-loss.*:\nposts\.mark is gone: \d+ documents? had a value of it; did you mean renamedFrom: 'mark' in posts\.brand\?\n$/,
    );
    assert.match(refused.stderr, new RegExp(`: ${total} documents? had`));
    assert.equal(await markOf(service), 'one');
    service.child.kill('SIGHUP');
    const told = () => logLines({ output }).filter(({ level, msg }) => level === 50 && /posts\.mark is gone/.test(msg));
    await eventually(() => told().length === 2);
    const accepted = await reload('--accept-loss');
    assert.equal(accepted.code, 1);
    assert.match(accepted.stderr, /this needs a restart\n(.*\n)*with --accept-loss: posts\.mark is gone/);
    withField("name: 'brand', type: 'text', renamedFrom: 'marc'");
    assert.match((await reload()).stderr, /never had a field "marc", .*; did you mean "mark"\?\n/);
    withField("name: 'brand', type: 'text', renamedFrom: 'mark'");
    assert.match((await reload()).stderr, /this needs a restart\n/);
    assert.equal(recordedEvents(data, schemaStream).length, schemas);
    assert.equal(await markOf(service), 'one');
  });

  it('at SIGHUP with a new collection, and the log names the restart that takes it', async () => {
    const { folder, output, call, child } = service;
    const config = filesOf('one')['annals.config.ts'] ?? '';
    const added = "{ slug: 'notes', fields: [] }, { slug: 'slow',";
    write(folder, { ...filesOf('one'), 'annals.config.ts': config.replace("{ slug: 'slow',", added) });
    child.kill('SIGHUP');
    const said = 'the configuration was not reloaded: it needs a restart: collections.notes was added';
    await eventually(() => logLines({ output }).some(({ level, msg }) => level === 40 && msg === said));
    assert.equal((await call('GET', '/api/collections/notes')).status, 404);
  });

  it('without a service, or for one of several sites', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    mkdirSync(data);
    const { code, stdout, stderr } = await runHere(['reload', '--data', data]);
    assert.deepEqual([code, stdout, stderr], [2, '', `no service answers requests on ${data}\n`]);
    assert.equal((await runHere(['reload', '--config', 'x'])).code, 2);
  });
});
