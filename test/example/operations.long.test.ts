import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { annalsWords } from '../helpers/command.ts';
import { spreadOf } from '../helpers/rounds.ts';
import { inherited, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { type CommandBlock, commandBlocks, patternOf, withoutChance } from './pages.ts';
import { config, type Stage, scenes } from './scenes.ts';

const pages = ['docs/operations.md', 'docs/backup.md'];

/** Commands that are not run here, by how they begin, each with the reason. */
const notRun: [command: string, reason: string][] = [
  ['docker ', 'Docker is not among the tools of the tests: .ci/image runs the image'],
  ['mc mirror ', 'the client of MinIO is not among the tools of the tests'],
  ['ANNALS_WITNESSES=', 'a setting, not a command'],
  [
    'ANNALS_TSA_',
    'two settings; with a witness and an authority: test/audit/notary/cosigning.test.ts, stamping.test.ts',
  ],
  ['annals backup --to s3://', 'runs until it is stopped, and takes a bucket: test/cli/backup-keeping.test.ts'],
  ['age -d ', 'age is not among the tools of the tests: test/cli/backup.test.ts decrypts what is encrypted'],
];
const isNotRun = (command: string) => notRun.some(([start]) => command.startsWith(start));

/** A command line in the shell, in the folder of a stage: its standard output and standard error in their order. */
async function typed(command: string, stage: Stage, programs: string): Promise<string> {
  const line = (stage.rewrite?.(command) ?? command).replace(/^npm run annals -- /, 'annals ');
  const environment = { ...inherited(), ...stage.environment, PATH: `${programs}${delimiter}${process.env.PATH}` };
  const child = spawn('sh', ['-c', `exec 2>&1; ${line}`], {
    cwd: stage.folder,
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stage.input ?? '');
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return printed;
}

/** A folder with the program `annals`, as an installation has it: of the checkout, or the binary that is tested. */
function programsFor(t: TestContext): string {
  const folder = temporaryFolder(t);
  const words = annalsWords().map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  writeFileSync(join(folder, 'annals'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  chmodSync(join(folder, 'annals'), 0o755);
  return folder;
}

async function runBlock(t: TestContext, { name, steps }: CommandBlock, scene: (typeof scenes)[string]): Promise<void> {
  const folder = join(temporaryFolder(t), 'site');
  mkdirSync(folder);
  const data = join(folder, 'data');
  const environment = { ANNALS_DATA: data, ANNALS_CONFIG: writeConfig(folder, config), ANNALS_PORT: '0', HOME: folder };
  const stage = { folder, data, environment, ...(await scene(t, { folder, data, environment })) };
  const programs = programsFor(t);
  for (const { command, answer } of steps) {
    if (isNotRun(command)) continue;
    await stage.before?.[command.replace(/ *#.*$/, '')]?.();
    const said = await typed(command, stage, programs);
    if (answer === null) continue;
    const shown = stage.shown ?? ((text: string) => text);
    const plain = (text: string) => shown(withoutChance(text.replaceAll(folder, '/srv')));
    assert.match(plain(said), patternOf(plain(answer)), `${command}\n${said}`);
  }
  await stage.after?.();
  assert.ok(steps.length > 0, name);
}

describe('The commands of the pages for operators', { skip: process.platform !== 'linux' }, () => {
  const blocks = pages.flatMap((page) => commandBlocks(page));

  it('are all run, or named here with the reason', () => {
    const run = blocks.filter(({ steps }) => steps.some(({ command }) => !isNotRun(command)));
    assert.deepEqual(run.map(({ page, name }) => `${page}: ${name}`).sort(), Object.keys(scenes).sort());
    const commands = blocks.flatMap(({ steps }) => steps.map(({ command }) => command));
    for (const [start] of notRun)
      assert.ok(
        commands.some((command) => command.startsWith(start)),
        start,
      );
  });

  const sceneOf = ({ page, name }: CommandBlock) => scenes[`${page}: ${name}`];
  for (const block of spreadOf(blocks.filter(sceneOf), 4)) {
    const scene = sceneOf(block);
    if (scene) it(`print what ${block.page} says: ${block.name}`, (t) => runBlock(t, block, scene));
  }
});
