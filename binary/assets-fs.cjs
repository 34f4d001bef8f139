'use strict';
// Replaces node:fs for @hapi/inert, which serves static files: our files are in the executable.
const fs = require('node:fs');
const sea = require('node:sea');
const { Readable } = require('node:stream');

const base = '/[annals]/';

exports.open = (path, mode, done) => {
  if (!path.startsWith(base)) fs.open(path, mode, done);
  else process.nextTick(done, ...openAsset(path.slice(base.length)));
};

/** The arguments of the callback. The name comes from a request, so the file may be missing. */
function openAsset(name) {
  try {
    return [null, { content: Buffer.from(sea.getAsset(name)) }];
  } catch {
    return [Object.assign(new Error(`the executable has no ${name}`), { code: 'ENOENT' })];
  }
}

exports.fstat = (file, done) => {
  if (typeof file === 'number') fs.fstat(file, done);
  else {
    // An asset has the time of the executable that contains it.
    fs.stat(process.execPath, (error, stat) => done(error, stat && Object.assign(stat, { size: file.content.length })));
  }
};

exports.close = (file, done) => {
  if (typeof file === 'number') fs.close(file, done);
  else process.nextTick(done, null);
};

exports.createReadStream = (path, options) => {
  const { fd: file, start, end = Number.POSITIVE_INFINITY } = options;
  if (typeof file === 'number') return fs.createReadStream(path, options);
  return Readable.from([file.content.subarray(start, end + 1)], { objectMode: false });
};

exports.readdir = fs.readdir;
