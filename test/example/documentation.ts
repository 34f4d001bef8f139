import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import type { Mailbox } from '../helpers/mail.ts';
import { apiKey, type Service } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { runProgram } from './programs.ts';

const run = promisify(execFile);
/**
 * Files and how many examples each has at least: none of them may stop being found. They are run in this order, for the
 * examples of one follow from each other.
 */
const files = {
  'README.md': 1,
  'docs/documents.md': 6,
  'docs/many-documents.md': 4,
  'docs/lists.md': 9,
  'docs/filtering.md': 17,
  'docs/reading.md': 7,
  'docs/openapi.md': 3,
  'docs/authentication.md': 25,
  'docs/uploads.md': 5,
  'docs/audit.md': 10,
  'examples/atlas/README.md': 1,
  'docs/preview.md': 4,
};

/** The examples of the client are one program: each prints what stands in the comment behind it. */
const programs = /^```ts\n([^`]*(?:`[^`]+`[^`]*)*?)```$/gm;

/** A step: a block of `sh`, and right after it the answer as a block of `json`, where `…` stands for anything. */
const examples = /^```sh\n([^`]*)```\n\n```json\n([^`]*)```$/gm;

/** Describes them, as of a service that has loaded the atlas and has no users yet. */
export function describeDocumentation(service: Service, mailbox: Mailbox): void {
  const folder = useFolder();
  const variables: Record<string, string> = { KEY: apiKey };
  /** The places in which the documentation tells its reader to find the values. */
  const sources: Record<string, () => Promise<string>> = {
    SETUP_TOKEN: async () => /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1] ?? '',
    INVITE_TOKEN: () => mailbox.token('ada@example.org'),
    RESET_TOKEN: () => mailbox.token('grace@example.org'),
    OCEANIA: async () => {
      const where = encodeURIComponent('{"name":{"equals":"Oceania"}}');
      const { body } = await service.call('GET', `/api/collections/regions?where=${where}`);
      return body.docs[0].id;
    },
  };

  async function answerOf(command: string): Promise<Value> {
    for (const [name, find] of Object.entries(sources)) {
      if (command.includes(`$${name}`)) variables[name] ??= await find();
    }
    const script = command.replaceAll('http://127.0.0.1:4000', service.url);
    const { stdout } = await run('sh', ['-c', script], { cwd: folder, env: { ...process.env, ...variables } });
    const answer = JSON.parse(stdout);
    if (typeof answer.token === 'string') variables.TOKEN = answer.token;
    if (typeof answer.id === 'string') variables.ID = answer.id;
    if (answer.document && answer.docs) variables.POSITION = String(answer.docs[0].position);
    return answer;
  }

  for (const [file, least] of Object.entries(files)) {
    it(`of ${file} answer what is written there`, { skip: process.platform === 'win32' }, async () => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      const found = [...text.matchAll(examples)];
      for (const [, command = '', answer = ''] of found) {
        const expected = JSON.parse(answer);
        assert.deepEqual(masked(elided(await answerOf(command), expected)), masked(expected), command);
      }
      assert.ok(found.length >= least, `only ${found.length} examples were found`);
    });
  }

  it('of docs/client.md print what is written there', async () => {
    const text = readFileSync(new URL('../../docs/client.md', import.meta.url), 'utf8');
    const program = [...text.matchAll(programs)].map(([, code = '']) => code).join('\n');
    const library = JSON.stringify(new URL('../../client/index.ts', import.meta.url).href);
    const code = program
      .replace("'annals/client'", library)
      .replaceAll('process.env.ANNALS_API_KEY', JSON.stringify(apiKey));
    const { printed, expected } = await runProgram(join(folder, 'client.ts'), code, service);
    assert.deepEqual(printed, expected);
    assert.ok(expected.length >= 15, `only ${expected.length} lines are printed`);
  });
}

type Value = null | boolean | number | string | Value[] | { [key: string]: Value };

/** An answer without the parts that its example leaves out. */
export function elided(actual: Value, expected: Value): Value {
  if (expected === '…') return '…';
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const shown = expected.at(-1) === '…' ? expected.length - 1 : actual.length;
    assert.ok(actual.length >= shown, `${actual.length} items instead of ${shown} and more`);
    const items = actual.slice(0, shown).map((item, index) => elided(item, expected[index] ?? null));
    return shown < expected.length && actual.length > shown ? [...items, '…'] : items;
  }
  if (!isObject(actual) || !isObject(expected)) return actual;
  const isWhole = !Object.hasOwn(expected, '…');
  const kept = Object.entries(actual).filter(([name]) => isWhole || Object.hasOwn(expected, name));
  const members = kept.map(([name, value]) => [name, elided(value, expected[name] ?? null)] as const);
  return Object.fromEntries(isWhole ? members : [...members, ['…', '…'] as const]);
}

function isObject(value: Value): value is { [key: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Ids and times differ from one service to the next, and how long a lock still lasts. */
export function masked(value: Value): Value {
  const text = JSON.stringify(value)
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, 'TIME')
    .replace(/in \d+ seconds/g, 'in N seconds');
  return JSON.parse(text);
}
