import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../bundle.ts';
import type { Sbom } from './sbom.ts';

/** The licences of the packages in the binary, which must be distributed with it. */
export function licencesOf({ components }: Sbom): string {
  const texts = components.flatMap(({ name, version, properties = [] }) => {
    const folder = properties.find((property) => property.name === 'annals:path')?.value;
    if (folder === undefined) return [];
    const files = readdirSync(join(root, folder))
      .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      .sort();
    const found = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
    return [`${name} ${version}\n\n${found.join('\n\n') || 'The package names its licence in package.json alone.'}`];
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
