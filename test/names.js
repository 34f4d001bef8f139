import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';

// npm run test:names: the names of all tests, quick and long, behind their file and suites, a line each, to compare
// before and after a change. No test is run: these files get another module as node:test. Tests that a test makes as it
// runs are not listed.
const recorder = new URL('./helpers/name-recorder.js', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' ? { url: recorder, shortCircuit: true } : next(specifier, context),
});
const { namesOf } = await import(recorder);

const files = globSync('test/**/*.test.ts').map((file) => file.replaceAll('\\', '/'));
for (const file of files.sort()) {
  const names = await namesOf(() => import(new URL(`../${file}`, import.meta.url).href));
  for (const name of names.sort()) process.stdout.write(`${file} > ${name.replace(/TEST_SEED=\d+/, 'TEST_SEED=…')}\n`);
}
// Servers that a file has started at its top would keep the process alive.
process.exit();
