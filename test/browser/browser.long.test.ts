import { it } from 'node:test';
import { executablePath } from '../helpers/chromium.ts';

/** One process for all of them, and so one browser. */
const files = ['account-pages', 'client', 'docs', 'mail', 'media', 'tutorial'];

// Without a browser none is imported, for each starts services when it is.
if (executablePath) await Promise.all(files.map((file) => import(`./${file}.ts`)));
else
  for (const file of files) it(`test/browser/${file}.ts`, { skip: 'no Chromium was found; CHROME_PATH may name one' });
