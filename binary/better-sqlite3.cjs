'use strict';
// Replaces the entry of better-sqlite3, which looks for its addon beside itself.
const { loadAddon } = require('./addon.cjs');

module.exports = require('better-sqlite3/lib/database')(() => loadAddon('better-sqlite3'), false);
module.exports.SqliteError = require('better-sqlite3/lib/sqlite-error');
