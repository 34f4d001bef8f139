import { readSync } from 'node:fs';

/** Thrown if a page does not conform to SQLite's file format. The page is not changed then. */
export class DamagedPageError extends Error {
  override name = 'DamagedPageError';
  readonly code = 'SQLITE_CORRUPT';
}

/**
 * A SQLite file whose write-ahead log is empty, so that the file has the newest version of each page. `descriptor` is
 * the open file. `hasMap` is true if it has pointer map pages.
 */
export type PagedFile = { descriptor: number; pageSize: number; pages: number; hasMap: boolean };

/**
 * The free pages. `isFree` is by page number. `trunks` are the pages of the list of free pages itself, with the number
 * of bytes that they use.
 */
export type FreePages = { isFree: Uint8Array; trunks: ReadonlyMap<number, number> };

/** The last overflow page of a row, and the number of bytes in use on it. */
type Tail = { page: number; used: number };

/**
 * The lowest page number whose first byte could be the byte of a page kind. In files with fewer pages, the first byte
 * distinguishes pages of trees from overflow pages, which begin with the number of the next page. This is 128 GiB with
 * pages of 4 KiB.
 */
const mostPages = 0x02_00_00_00;

/** The bytes at the start of the file, before the tree on page 1. */
const fileHeaderBytes = 100;

/** The kinds of tree pages, with their first byte. */
const kinds = { indexInterior: 2, tableInterior: 5, indexLeaf: 10, tableLeaf: 13 };

/**
 * Reads the header of a file (https://sqlite.org/fileformat2.html, section 1.3).
 *
 * @throws DamagedPageError for a file that this module does not support: with reserved bytes, or too large.
 */
export function openPages(descriptor: number): PagedFile {
  const header = Buffer.alloc(fileHeaderBytes);
  readAt(descriptor, header, 0);
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') throw new DamagedPageError('this is not a SQLite file');
  const size = header.readUInt16BE(16);
  const pageSize = size === 1 ? 65_536 : size;
  const pages = header.readUInt32BE(28);
  if (header[20] !== 0) throw new DamagedPageError('its pages have reserved bytes');
  if (pages >= mostPages) throw new DamagedPageError(`it has ${pages} pages, ${mostPages} or more`);
  return { descriptor, pageSize, pages, hasMap: header.readUInt32BE(52) !== 0 };
}

/** Reads consecutive pages, beginning at a page number. @throws DamagedPageError if the file is too short. */
export function readPages({ descriptor, pageSize }: PagedFile, from: number, into: Buffer): void {
  readAt(descriptor, into, (from - 1) * pageSize);
}

function readAt(descriptor: number, into: Buffer, position: number): void {
  for (let done = 0; done < into.length; ) {
    const count = readSync(descriptor, into, done, into.length - done, position + done);
    if (count === 0) throw new DamagedPageError('the file ends within a page');
    done += count;
  }
}

/** The page that SQLite never uses, because its locks are on these bytes. */
export function lockPage({ pageSize }: PagedFile): number {
  return 0x40_00_00_00 / pageSize + 1;
}

/** Whether a page is a pointer map page (section 1.8), whose bytes are all in use or zero. */
export function isMapPage(file: PagedFile, number: number): boolean {
  if (!file.hasMap || number < 2) return false;
  // A pointer map page has five bytes for each page up to the next pointer map page.
  const every = Math.floor(file.pageSize / 5) + 1;
  const page = 2 + Math.floor((number - 2) / every) * every;
  return number === (page === lockPage(file) ? page + 1 : page);
}

/** The pages in which nothing is stored (section 1.5). */
export function freePages(file: PagedFile): FreePages {
  const header = Buffer.alloc(fileHeaderBytes);
  readAt(file.descriptor, header, 0);
  const isFree = new Uint8Array(file.pages + 1);
  const trunks = new Map<number, number>();
  const trunk = Buffer.alloc(file.pageSize);
  for (let page = header.readUInt32BE(32); page !== 0; page = trunk.readUInt32BE(0)) {
    mark(page);
    readPages(file, page, trunk);
    const count = trunk.readUInt32BE(4);
    const used = 8 + 4 * count;
    if (used > file.pageSize) throw new DamagedPageError(`page ${page} lists ${count} free pages`);
    trunks.set(page, used);
    for (let at = 8; at < used; at += 4) mark(trunk.readUInt32BE(at));
  }
  return { isFree, trunks };

  function mark(page: number): void {
    if (page < 2 || page > file.pages || isFree[page] === 1)
      throw new DamagedPageError(`the list of free pages is damaged at page ${page}`);
    isFree[page] = 1;
  }
}

/**
 * Whether a page that is not free belongs to a tree. Overflow pages begin with a page number, whose first byte is
 * smaller.
 */
export function isTreePage(page: Buffer, number: number): boolean {
  return (page[startOf(number)] as number) >= kinds.indexInterior;
}

function startOf(number: number): number {
  return number === 1 ? fileHeaderBytes : 0;
}

/**
 * Zeros the bytes of a tree page that no row uses (section 1.6): between the pointers to rows and the rows, and in
 * freed blocks. SQLite does not read these bytes.
 *
 * @returns whether a byte was not zero.
 * @throws DamagedPageError before anything is changed.
 */
export function clearTreePage(page: Buffer, number: number): boolean {
  const start = startOf(number);
  const { pointersEnd, content } = boundsOf(page, number);
  const blocks: [from: number, to: number][] = [[pointersEnd, content]];
  let last = content - 1;
  for (let at = page.readUInt16BE(start + 1); at !== 0; at = page.readUInt16BE(at)) {
    if (at <= last || at + 4 > page.length) throw damaged(number, 'a free block is out of place');
    const end = at + page.readUInt16BE(at + 2);
    if (end < at + 4 || end > page.length) throw damaged(number, 'a free block has a wrong length');
    // The first four bytes of a block are the offset of the next block, and the length.
    blocks.push([at + 4, end]);
    last = end - 1;
  }
  let isChanged = false;
  for (const [from, to] of blocks) isChanged = clear(page, from, to) || isChanged;
  return isChanged;
}

let zeros = Buffer.alloc(0);

/** Zeros a part of a page. @returns whether any of its bytes was not zero. */
export function clear(page: Buffer, from: number, to: number): boolean {
  if (zeros.length < page.length) zeros = Buffer.alloc(page.length);
  if (from >= to || page.compare(zeros, 0, to - from, from, to) === 0) return false;
  page.fill(0, from, to);
  return true;
}

function boundsOf(page: Buffer, number: number) {
  const start = startOf(number);
  const kind = page[start] as number;
  const isInterior = kind === kinds.indexInterior || kind === kinds.tableInterior;
  if (!isInterior && kind !== kinds.indexLeaf && kind !== kinds.tableLeaf) throw damaged(number, `its kind is ${kind}`);
  const pointers = start + (isInterior ? 12 : 8);
  const cells = page.readUInt16BE(start + 3);
  const pointersEnd = pointers + 2 * cells;
  const content = page.readUInt16BE(start + 5) || 65_536;
  if (pointersEnd > content || content > page.length) throw damaged(number, 'its rows are out of place');
  return { kind, isInterior, pointers, pointersEnd, content };
}

/** The last overflow pages of the rows of a tree page that are too long for the page. */
export function tailsOf(file: PagedFile, page: Buffer, number: number): Tail[] {
  const { kind, isInterior, pointers, pointersEnd, content } = boundsOf(page, number);
  if (kind === kinds.tableInterior) return [];
  const { most, least } = localBounds(file.pageSize, kind === kinds.tableLeaf);
  const tails: Tail[] = [];
  for (let pointer = pointers; pointer < pointersEnd; pointer += 2) {
    const cell = page.readUInt16BE(pointer);
    if (cell < content || cell + 4 > page.length) throw damaged(number, 'a row is out of place');
    const at = isInterior ? cell + 4 : cell;
    // A length below 128 has only one byte, so most rows of indexes are done here.
    if (most >= 127 && (page[at] as number) < 0x80) continue;
    const { value: length, end } = varintAt(page, at);
    if (length <= most) continue;
    const begin = kind === kinds.tableLeaf ? varintAt(page, end).end : end;
    const wanted = least + ((length - least) % (file.pageSize - 4));
    const local = wanted <= most ? wanted : least;
    if (begin + local + 4 > page.length) throw damaged(number, 'a row is too long');
    tails.push(lastOf(file, { first: page.readUInt32BE(begin + local), length: length - local, from: number }));
  }
  return tails;
}

/** The maximum number of bytes of a row on its tree page, and the minimum number if the row is longer. */
function localBounds(usable: number, isTable: boolean): { most: number; least: number } {
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  return { least, most: isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23 };
}

/** The last overflow page of a row. `length` is the number of bytes in all overflow pages. */
function lastOf(file: PagedFile, { first, length, from }: { first: number; length: number; from: number }): Tail {
  const room = file.pageSize - 4;
  const next = Buffer.alloc(4);
  let page = first;
  for (let left = length; ; left -= room) {
    if (page < 2 || page > file.pages) throw damaged(from, `one of its rows continues at page ${page}`);
    readPages(file, page, next);
    if (left <= room) {
      if (next.readUInt32BE(0) !== 0) throw damaged(from, `one of its rows does not end at page ${page}`);
      return { page, used: 4 + left };
    }
    page = next.readUInt32BE(0);
  }
}

/** Reads a varint: one to nine bytes, with seven bits each except the last (section 1.6). */
function varintAt(page: Buffer, at: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = page[at + index];
    if (byte === undefined) throw new DamagedPageError('a number extends beyond its page');
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return { value: value * 256 + (page[at + 8] ?? 0), end: at + 9 };
}

function damaged(number: number, what: string): DamagedPageError {
  return new DamagedPageError(`page ${number} is damaged: ${what}`);
}
