import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import type { Service } from '../helpers/service.ts';

/**
 * Runs a program of the documentation as a file, against this service.
 *
 * @returns what it printed, and what the comments behind its `console.log` say that it prints.
 */
export async function runProgram(file: string, program: string, service: Pick<Service, 'url'>) {
  const printed: string[] = [];
  const code = program
    .replaceAll("'http://127.0.0.1:4000'", JSON.stringify(service.url))
    .replaceAll('console.log(', '(globalThis as any).printOfExample(');
  writeFileSync(file, code);
  Object.assign(globalThis, { printOfExample: (...values: unknown[]) => printed.push(format(...values)) });
  await import(pathToFileURL(file).href);
  return {
    printed: printed.map((line) => line.replaceAll(service.url, 'http://127.0.0.1:4000').replace(/\s+/g, ' ')),
    expected: [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line),
  };
}
