'use strict';
// In the place of node-gyp-build, by which bcrypt alone finds its addon.
const { loadAddon } = require('./addon.cjs');

module.exports = () => loadAddon('bcrypt');
