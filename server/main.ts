#!/usr/bin/env node
// better-sqlite3 13 crashes an older Node without a word, so nothing may be imported before this check.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26) {
  console.error(
    `Annals needs Node 26; this is ${process.version}. In the checkout, npm start and npm run bring it along.`,
  );
  process.exit(2);
}
const { run } = await import('./cli.ts');
process.exitCode = await run(process.argv.slice(2), process.env);
