'use strict';
// Replaces node-gyp-build, with which only bcrypt finds its addon.
const { loadAddon } = require('./addon.cjs');

module.exports = () => loadAddon('bcrypt');
