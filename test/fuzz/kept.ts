import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const corpus = fileURLToPath(new URL('./corpus', import.meta.url));

/** The parsers of which inputs are kept. */
export function keptParsers(): string[] {
  return readdirSync(corpus).sort();
}

/** The inputs that are kept of a parser, by their names. */
export function keptInputs(parser: string): Map<string, Buffer> {
  const folder = join(corpus, parser);
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  return new Map(files.map((file) => [file, readFileSync(join(folder, file))]));
}

/** The folder of the kept inputs of a parser, and how the path of one begins that was found. */
export function placeOf(parser: string): { folder: string; prefix: string } {
  const folder = join(corpus, parser);
  return { folder, prefix: join(folder, 'found-') };
}

/** Keeps an input of a parser, so that each run of the tests tries it again. @returns its file. */
export function keep(parser: string, input: Buffer): string {
  const { folder, prefix } = placeOf(parser);
  const file = `${prefix}${hash('sha256', input).slice(0, 12)}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, input);
  return file;
}
