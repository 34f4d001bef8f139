import { isNewEnough, neededNode } from '../../platform/node-version.js';

// better-sqlite3 crashes an older Node without a word. Whoever imports this first is told before any of it is loaded.
if (!isNewEnough()) throw new Error(`annals/server needs ${neededNode}; this is ${process.version}`);
