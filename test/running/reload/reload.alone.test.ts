import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { schemaStream } from '../../../events/facts/catalogue.ts';
import { runHere } from '../../helpers/in-process.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually, logLines, recordedEvents, useStarted } from '../../helpers/shared.ts';
import { begin, type Files, filesOf, markOf, posts, write } from './reloading.ts';

const service = useStarted((t) => begin(t, 'serve', { ANNALS_THREADS: '1' }));

/**
 * Brings the configuration `one` back into force if a test has left another one. @returns how many schemas the log has.
 */
async function backAtOne(): Promise<number> {
  write(service.folder, filesOf('one'));
  if ((await markOf(service)) !== 'one') assert.equal((await service.reload()).code, 0);
  return recordedEvents(service.data, schemaStream).length;
}

describe('A configuration is reloaded', () => {
  it('which turns the admin application off and on again', async () => {
    const { folder, reload, url } = service;
    const led = () => fetch(`${url}/`, { redirect: 'manual', headers: { accept: 'text/html' } });
    const typeOf = async () => (await fetch(`${url}/admin/c/posts`)).headers.get('content-type');
    await backAtOne();
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
  /** Reloads wrong configurations, one after the other. @param wrong their files, and the reason that is told. */
  async function refused(wrong: readonly (readonly [Files, RegExp])[]): Promise<void> {
    const schemas = await backAtOne();
    const { folder, reload, output } = service;
    const told = () =>
      logLines({ output }).filter(({ level, msg }) => level === 50 && /was not reloaded/.test(msg)).length;
    const before = told();
    for (const [files, reason] of wrong) {
      write(folder, { ...filesOf('two'), ...files });
      const { code, stdout, stderr } = await reload();
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^not reloaded, the former configuration stays in force: the configuration is refused\n/);
      assert.match(stderr, reason);
      assert.equal(await markOf(service), 'one');
    }
    assert.equal(recordedEvents(service.data, schemaStream).length, schemas);
    await eventually(() => told() === before + wrong.length);
  }

  it('of a wrong configuration, and the reason is told', () =>
    refused([
      [
        { 'rules.ts': 'export const canRead = (: boolean => true;' },
        /annals\.config\.ts cannot be loaded: .*rules\.ts:1/s,
      ],
      [{ 'limits.json': '{ "title": -1 }' }, /collections\.posts\.fields\.title\.maxLength: must be /],
    ]));

  it('of a configuration whose modules throw, lack a name, or end their thread', () =>
    refused([
      [
        { 'rules.ts': 'throw new Error("no rules here"); export const canRead = null;' },
        /no rules here, at .*rules\.ts:1:7/,
      ],
      [{ 'hooks.cjs': 'exports.other = 1;' }, /annals\.config\.ts cannot be loaded: /],
      [{ 'rules.ts': 'process.exit(3); export const canRead = null;' }, /the thread that loads it exited with 3/],
    ]));

  /**
   * Reloads configurations that need a restart. @param changes the text of the configuration, and the change that is
   * told.
   */
  async function postponed(changes: readonly (readonly [text: string, told: string])[]): Promise<void> {
    const schemas = await backAtOne();
    const { folder, reload, call, data } = service;
    for (const [text, told] of changes) {
      write(folder, { ...filesOf('two'), 'annals.config.ts': text });
      const { code, stdout, stderr } = await reload();
      assert.deepEqual([code, stdout], [1, '']);
      const [heading, ...lines] = stderr.trimEnd().split('\n');
      assert.equal(heading, 'not reloaded, the former configuration stays in force: this needs a restart');
      assert.ok(lines.includes(told), stderr);
      assert.equal(await markOf(service), 'one');
    }
    assert.equal(recordedEvents(data, schemaStream).length, schemas);
    assert.equal((await call('GET', posts)).status, 200);
  }

  const two = filesOf('two')['annals.config.ts'] ?? '';

  it('if documents would be stored in another way, which the next start does', () =>
    postponed([
      [
        two.replace("fields: [{ name: 'title'", "fields: [{ name: 'x', type: 'text' }, { name: 'title'"),
        'collections.posts.fields.x was added',
      ],
      [
        two.replace("{ name: 'mark', type: 'text' }", "{ name: 'mark', type: 'number' }"),
        'collections.posts.fields.mark.type was changed',
      ],
      [
        two.replace("name: 'mark', type: 'text'", "name: 'mark', type: 'text', unique: true"),
        'collections.posts.fields.mark.unique was added',
      ],
    ]));

  it('if a collection was replaced, or has accounts, which the next start does', () =>
    postponed([
      [two.replace("{ slug: 'users', auth: true", "{ slug: 'members', auth: true"), 'collections.users was removed'],
      [two.replace("{ slug: 'slow',", "{ slug: 'slow', auth: true,"), 'collections.slow.auth was added'],
    ]));

  const one = filesOf('one')['annals.config.ts'] ?? '';
  const withField = (field: string) =>
    write(service.folder, { 'annals.config.ts': one.replace("name: 'mark', type: 'text'", field) });

  it('by which documents would show less, at SIGHUP neither, until the loss is accepted', async () => {
    const schemas = await backAtOne();
    const { reload, call, data, output } = service;
    assert.equal((await call('POST', posts, { title: 'kept' })).status, 201);
    const { total } = (await call('GET', `${posts}?limit=1`)).body;
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
    assert.equal(recordedEvents(data, schemaStream).length, schemas);
  });

  it('only until there is a right configuration, which is taken', async () => {
    await refused([[{ 'limits.json': '{ "title": -1 }' }, /maxLength: must be /]]);
    write(service.folder, filesOf('two'));
    assert.equal((await service.reload()).code, 0);
    assert.equal(await markOf(service), 'two');
    assert.equal((await service.call('GET', '/ready')).status, 200);
  });

  it('by which documents would show less, until the rename is written', async () => {
    const schemas = await backAtOne();
    withField("name: 'brand', type: 'text', renamedFrom: 'marc'");
    assert.match((await service.reload()).stderr, /never had a field "marc", .*; did you mean "mark"\?\n/);
    withField("name: 'brand', type: 'text', renamedFrom: 'mark'");
    assert.match((await service.reload()).stderr, /this needs a restart\n/);
    assert.equal(recordedEvents(service.data, schemaStream).length, schemas);
    assert.equal(await markOf(service), 'one');
  });

  it('at SIGHUP with a new collection, and the log names the restart that takes it', async () => {
    const { folder, output, call, child } = service;
    const added = "{ slug: 'notes', fields: [] }, { slug: 'slow',";
    write(folder, { ...filesOf('one'), 'annals.config.ts': one.replace("{ slug: 'slow',", added) });
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
