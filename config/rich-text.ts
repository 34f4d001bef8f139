import { isObject, type Json } from './schema.ts';

/** Deeper nodes are ignored: editors make only a few levels, and each level uses the stack. */
const mostLevels = 100;

/**
 * The plain text of rich text in ProseMirror JSON, `{ "type": "doc", "content": [...] }`, with a line for each block.
 * Empty for JSON of any other shape.
 */
export function textOfRich(value: Json | undefined): string {
  if (!isObject(value) || value.type !== 'doc') return '';
  const lines: string[] = [''];
  gather(value, lines, 0);
  return lines.filter((line) => line !== '').join('\n');
}

/** Marks such as bold divide the text of a block into several nodes; the nodes are joined to one line. */
function gather(node: Json, lines: string[], level: number): void {
  if (!isObject(node) || level > mostLevels) return;
  const { type, text, content } = node;
  if (type === 'text') {
    if (typeof text === 'string') lines[lines.length - 1] += text;
    return;
  }
  if (type === 'hardBreak' || type === 'hard_break') lines.push('');
  if (!Array.isArray(content)) return;
  lines.push('');
  for (const inside of content) gather(inside, lines, level + 1);
  lines.push('');
}
