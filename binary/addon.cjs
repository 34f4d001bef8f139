'use strict';
const { getEnvironmentData } = require('node:worker_threads');

/** Loads a native addon from the place where bootstrap.cjs has put it. */
exports.loadAddon = (name) => {
  const loaded = { exports: {} };
  process.dlopen(loaded, getEnvironmentData('annals.addons')[name]);
  return loaded.exports;
};
