import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { packageName } from '../../config/package-name.ts';
import { readAsset } from '../../server/platform/carried.ts';
import { defaultNames, firstConfiguration } from '../../server/settings/configuration.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { codeOf } from '../../storage/errors.ts';

/** For editors and for `tsc`: Node runs the configuration as it is, so it takes only types that can be stripped. */
const compilerOptions = {
  target: 'esnext',
  module: 'preserve',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  skipLibCheck: true,
};

/** `annals init`: exit 0 written, 2 refused, since a file is there already. */
export async function init(): Promise<number> {
  // A command for all sites takes no --site.
  const files: Record<string, string | Buffer> = {
    'annals.config.ts': `${firstConfiguration}\n`,
    // An installed package has its own.
    ...(existsSync(`node_modules/${packageName}`) ? {} : { 'annals.d.ts': await readAsset('cli/annals-types.txt') }),
    'tsconfig.json': `${JSON.stringify({ compilerOptions, include: ['*.ts'] }, null, 2)}\n`,
    '.gitignore': 'data/\nnode_modules/\n',
  };
  const found = [...new Set([...defaultNames, ...Object.keys(files)])].filter((name) => existsSync(name));
  if (found.length > 0) throw taken(found);
  for (const [name, content] of Object.entries(files)) write(name, content);
  process.stdout.write(`wrote ${Object.keys(files).join(', ')}\nannals serve starts the service\n`);
  return 0;
}

function write(name: string, content: string | Buffer): void {
  try {
    writeFileSync(name, content, { flag: 'wx' });
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? taken([name]) : error;
  }
}

function taken(names: readonly string[]): UsageError {
  return new UsageError(
    `${resolve('.')} has ${names.join(', ')} already: annals init writes into a folder without them, and replaces no file`,
  );
}
