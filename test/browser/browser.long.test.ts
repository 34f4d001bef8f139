import { it } from 'node:test';
import { executablePath } from '../helpers/chromium.ts';

/** All files run in one process, and so in one browser. */
const files = ['account-pages', 'client', 'docs', 'mail', 'media', 'tutorial'];

// Without a browser no file is imported, because each starts services when it is loaded.
if (executablePath) await Promise.all(files.map((file) => import(`./${file}.ts`)));
else
  for (const file of files) it(`test/browser/${file}.ts`, { skip: 'no Chromium was found; CHROME_PATH may name one' });
