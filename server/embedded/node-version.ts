// better-sqlite3 13 crashes an older Node without a word. Whoever imports this first is told before any of it is loaded.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26) throw new Error(`annals/server needs Node 26; this is ${process.version}`);
