import { readFileSync } from 'node:fs';

/** A command of a page, and the lines that it is said to print; null if the page says nothing of them. */
export type Step = { command: string; answer: string | null };

/** A block of commands on a page: `name` is its first command. */
export type CommandBlock = { page: string; name: string; steps: Step[] };

const blocks = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The blocks of commands of a page: those of `sh`, and those in which a line begins with `$`, above its output. */
export function commandBlocks(page: string): CommandBlock[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(blocks)].flatMap(([, language = '', content = '']) => {
    const steps = language === 'sh' ? shellSteps(content) : language === '' ? typedSteps(content) : [];
    const [first] = steps;
    return first ? [{ page, name: first.command, steps }] : [];
  });
}

function shellSteps(content: string): Step[] {
  const lines = content.replaceAll('\\\n', ' ').split('\n');
  return lines.filter((line) => line.trim() !== '').map((command) => ({ command, answer: null }));
}

function typedSteps(content: string): Step[] {
  const [, ...typed] = `\n${content}`.split('\n$ ');
  return typed.map((text) => {
    const [command = '', ...answer] = text.trimEnd().split('\n');
    return { command, answer: answer.length > 0 ? `${answer.join('\n')}\n` : null };
  });
}

/**
 * A text without the parts that differ from one machine and moment to the next: ids, keys, digests, times, counts, and
 * the width of columns.
 */
export function withoutChance(text: string): string {
  return text
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
    .replace(/annals\/ID\+[\da-f]{8}\+\S+/g, 'KEY')
    .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, 'TIME')
    .replace(/\b([\da-f]{64}|[\da-f]{16}|[\da-f]{8})\b/g, 'HEX')
    .replace(/[\w+/]{43}=/g, 'ROOT')
    .replace(/\b\d+(\.\d+)*\b/g, 'N')
    .replace(/\bN second\b/g, 'N seconds')
    .replace(/ +/g, ' ')
    .trimEnd();
}

/** A pattern of a text in which `…` stands for anything. */
export function patternOf(text: string): RegExp {
  // RegExp.escape is not in Node 22.
  const parts = text.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*?')}$`);
}
