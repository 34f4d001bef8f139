import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { OpenApi } from './contract.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles the types that openapi-typescript makes of documents, each as a module of its name, together with a source
 * that uses them. One run compiles all: to start the compiler takes longer than to compile.
 *
 * @returns the output of the compiler.
 */
export async function compileTypes(documents: Record<string, OpenApi>, source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
  try {
    for (const [name, document] of Object.entries(documents)) {
      writeFileSync(join(folder, `${name}.ts`), await typesOf(document));
    }
    writeFileSync(join(folder, 'uses.ts'), source);
    return await compile(folder, { exactOptionalPropertyTypes: true, module: 'nodenext' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Compiles the files of a folder. @returns the output of the compiler. */
export function compile(folder: string, options: Record<string, unknown>): Promise<string> {
  const compilerOptions = { strict: true, target: 'es2024', noEmit: true, types: [], ...options };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  return run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
}

/** The types that openapi-typescript makes of a document. */
export function typesOf(document: OpenApi): Promise<string> {
  return withOlderTypeScript(async () => {
    // A variable, since the package's types are about TypeScript 5 too.
    const name = 'openapi-typescript';
    const { default: make, astToString } = await import(name);
    // Otherwise members with a default would be required in a body.
    return astToString(await make(document, { defaultNonNullable: false }));
  });
}

/**
 * Runs a generator that needs TypeScript 5, whose compiler can be called. Ours is newer; another package brings version
 * 5 along.
 */
export async function withOlderTypeScript<T>(generate: () => Promise<T>): Promise<T> {
  const require = createRequire(import.meta.url);
  const older = createRequire(require.resolve('@arethetypeswrong/core')).resolve('typescript');
  const url = pathToFileURL(older).href;
  const hooks = registerHooks({
    resolve: (name, context, next) => (name === 'typescript' ? { url, shortCircuit: true } : next(name, context)),
  });
  try {
    return await generate();
  } finally {
    hooks.deregister();
  }
}

function run(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let said = '';
    const note = (text: Buffer) => {
      said += text;
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.on('error', reject);
    child.on('close', () => resolve(said));
  });
}
