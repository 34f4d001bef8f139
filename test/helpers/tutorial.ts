import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');

/** A command of the tutorial, and the answer that the page shows; null if it shows none. */
export type Step = { command: string; answer: { isJson: boolean; text: string } | null };

type Block = { name: string | undefined; language: string; content: string; end: number; start: number };

const blocks: Block[] = [...text.matchAll(/(?:^`([^`\n]+)`[^\n]*:\n\n)?^```(\w*)\n([\s\S]*?)^```\n/gm)].map((match) => {
  const [whole, name, language = '', content = ''] = match;
  return { name, language, content, start: match.index, end: match.index + whole.length };
});

/** The files that the reader writes, by their paths. */
export const files = new Map(blocks.flatMap(({ name, content }) => (name === undefined ? [] : [[name, content]])));

/** The commands that the reader types, in their order. */
export const steps: Step[] = blocks.flatMap(({ name, language, content, end }, index): Step[] => {
  if (name !== undefined || language !== 'sh') return [];
  const next = blocks[index + 1];
  const isAnswer =
    next && next.name === undefined && next.language !== 'sh' && text.slice(end, next.start).trim() === '';
  return [{ command: content, answer: isAnswer ? { isJson: next.language === 'json', text: next.content } : null }];
});

/**
 * Writes the files of the tutorial; the package `annals` is the sources of this checkout.
 *
 * @param origin that of the page.
 * @param service where the service answers.
 */
export function writeTutorial(folder: string, origin: string, service: string): void {
  for (const [name, content] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      content.replaceAll('http://localhost:5173', origin).replaceAll('http://127.0.0.1:4000', service),
    );
  }
  const installed = join(folder, 'node_modules/annals');
  mkdirSync(installed, { recursive: true });
  for (const name of ['config', 'client']) symlinkSync(join(root, name), join(installed, name), 'junction');
  const exports = { '.': './config/index.ts', './client': './client/index.ts' };
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'annals', type: 'module', exports }));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
}
