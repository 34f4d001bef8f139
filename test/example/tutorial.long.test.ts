import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runHere } from '../helpers/in-process.ts';
import { callerOf } from '../helpers/service.ts';
import { launch, useFolder } from '../helpers/shared.ts';
import { steps, writeTutorial } from '../helpers/tutorial.ts';
import { elided, masked } from './documentation.ts';
import { patternOf } from './pages.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const password = 'correct horse battery';

describe('The tutorial', { skip: process.platform === 'win32' }, () => {
  const folder = useFolder();
  writeTutorial(folder, 'http://localhost:5173', 'http://127.0.0.1:4000');

  it('has files that the compiler takes', async () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch((error) => error);
    assert.equal(stdout, '');
  });

  it('has commands that answer what is written there, in their order', async (t) => {
    const config = join(folder, 'annals.config.ts');
    const data = join(folder, 'data');
    const started = launch(t, ['serve', '--config', config, '--data', data, '--port', '0'], { ANNALS_THREADS: '0' });
    const url = await started.listening;
    const call = callerOf(url);
    const variables: Record<string, string> = {};
    let answered = 0;

    /** A line of a command, as the reader's shell runs it. */
    async function typed(line: string): Promise<string> {
      const [program, ...args] = line
        .replaceAll('$POST', variables.POST ?? '')
        .replace('npx --no -- ', '')
        .split(' ');
      const given = args.map((word) => (word === 'post.zip' ? join(folder, word) : word));
      if (program === 'annals-verify') {
        const verifier = join(root, 'verify/annals-verify.mjs');
        return (await run(process.execPath, [verifier, ...given])).stdout;
      }
      const environment = { ANNALS_CONFIG: config, ANNALS_DATA: data };
      const { code, stdout, stderr } = await runHere(given, { environment, input: `${password}\n` });
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
      return stdout;
    }

    /** The calls of the page when Ada logs in there and writes a post. */
    async function visitPage(): Promise<void> {
      const credentials = { email: 'ada@example.org', password };
      const { body } = await call('POST', '/api/collections/writers/login', credentials, { key: null });
      const headers = { authorization: `Bearer ${body.token}` };
      const post = { title: 'By Ada', text: 'From the page.' };
      const { status } = await call('POST', '/api/collections/posts', post, { key: null, headers });
      assert.equal(status, 201);
    }

    async function answerOf(command: string): Promise<string> {
      if (/^(mkdir|npm|\w+=)/.test(command)) return '';
      if (command === 'npx vite\n') {
        await visitPage();
        return '';
      }
      if (command === 'npx --no -- annals serve\n') {
        const { stdout } = started.output();
        variables.KEY = /API key {2}(\S+)/.exec(stdout)?.[1] ?? '';
        return stdout;
      }
      if (command.startsWith('npx ')) {
        let all = '';
        for (const line of command.trim().split('\n')) all += await typed(line);
        return all;
      }
      const script = command.replaceAll('http://127.0.0.1:4000', url);
      const { stdout } = await run('sh', ['-c', script], { cwd: folder, env: { ...process.env, ...variables } });
      // Of two calls the answer of the second is shown.
      const last = stdout.replace(/^\{.*\}(?=\{)/, '');
      const { id } = JSON.parse(last);
      const made = { posts: 'POST', pictures: 'PICTURE' }[/collections\/(\w+)$/m.exec(command)?.[1] ?? ''];
      if (typeof id === 'string' && made) variables[made] = id;
      return last;
    }

    for (const { command, answer } of steps) {
      const said = await answerOf(command);
      if (!answer) continue;
      answered += 1;
      if (answer.isJson) {
        const expected = JSON.parse(answer.text);
        assert.deepEqual(masked(elided(JSON.parse(said), expected)), masked(expected), command);
      } else assert.match(bare(said).replaceAll(url, 'http://127.0.0.1:4000'), patternOf(bare(answer.text)), command);
    }
    assert.ok(answered >= 11, `only ${answered} commands are answered`);
  });
});

/** Ids and times differ from one service to the next, and columns are as wide as they must be. */
function bare(text: string): string {
  return text
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
    .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, 'TIME')
    .replace(/ +/g, ' ');
}
