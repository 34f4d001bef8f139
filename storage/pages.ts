import { readSync } from 'node:fs';

/** Thrown when a page is not what the file format of SQLite says. Nothing of it is changed then. */
export class DamagedPageError extends Error {
  override name = 'DamagedPageError';
  readonly code = 'SQLITE_CORRUPT';
}

/**
 * A file of SQLite whose write-ahead log is empty, so that the file has the newest version of each page. `descriptor`:
 * the open file. `hasMap`: some pages map where other pages belong.
 */
export type PagedFile = { descriptor: number; pageSize: number; pages: number; hasMap: boolean };

/** `isFree`: by number of page. `trunks`: pages of the list itself, with the number of bytes they use. */
export type FreePages = { isFree: Uint8Array; trunks: ReadonlyMap<number, number> };

/** The last page of a row that goes on outside of its tree, and how many bytes of it are in use. */
type Tail = { page: number; used: number };

/**
 * The first page whose number could begin with the byte of a kind of page. Below it the first byte tells pages of trees
 * from overflow pages, which begin with the number of the next page. 128 GiB with pages of 4 KiB.
 */
const mostPages = 0x02_00_00_00;

/** The bytes at the start of the file, before the tree on page 1. */
const fileHeaderBytes = 100;

/** Kinds of pages of trees, by their first byte. */
const kinds = { indexInterior: 2, tableInterior: 5, indexLeaf: 10, tableLeaf: 13 };

/**
 * Reads the header of a file (https://sqlite.org/fileformat2.html, section 1.3).
 *
 * @throws DamagedPageError for a file that this does not understand: one with reserved bytes, or too large.
 */
export function openPages(descriptor: number): PagedFile {
  const header = Buffer.alloc(fileHeaderBytes);
  readAt(descriptor, header, 0);
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') throw new DamagedPageError('this is no file of SQLite');
  const size = header.readUInt16BE(16);
  const pageSize = size === 1 ? 65_536 : size;
  const pages = header.readUInt32BE(28);
  if (header[20] !== 0) throw new DamagedPageError('its pages have reserved bytes');
  if (pages >= mostPages) throw new DamagedPageError(`it has ${pages} pages, ${mostPages} or more`);
  return { descriptor, pageSize, pages, hasMap: header.readUInt32BE(52) !== 0 };
}

/** Reads consecutive pages, from a number on. @throws DamagedPageError if the file is too short. */
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

/** The page that SQLite never uses, since its locks are on the bytes there. */
export function lockPage({ pageSize }: PagedFile): number {
  return 0x40_00_00_00 / pageSize + 1;
}

/** Whether a page maps where other pages belong (section 1.8): all of its bytes are in use, or zeros. */
export function isMapPage(file: PagedFile, number: number): boolean {
  if (!file.hasMap || number < 2) return false;
  // Each has five bytes for every page up to the next one.
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
 * Whether a page that is not free is one of a tree: others begin with the number of a page, whose first byte is
 * smaller.
 */
export function isTreePage(page: Buffer, number: number): boolean {
  return (page[startOf(number)] as number) >= kinds.indexInterior;
}

function startOf(number: number): number {
  return number === 1 ? fileHeaderBytes : 0;
}

/**
 * Zeros the bytes of a page of a tree that no row uses (section 1.6): between the pointers to rows and the rows, and in
 * freed blocks. SQLite reads none of them.
 *
 * @returns whether a byte was not zero.
 * @throws DamagedPageError, before anything is changed.
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
    // The first four bytes are the offset of the next block, and the length.
    blocks.push([at + 4, end]);
    last = end - 1;
  }
  let isChanged = false;
  for (const [from, to] of blocks) isChanged = clear(page, from, to) || isChanged;
  return isChanged;
}

let zeros = Buffer.alloc(0);

/** Zeros a part of a page. @returns whether something stood there. */
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

/** The ends of the rows of a page of a tree that are too long for it. */
export function tailsOf(file: PagedFile, page: Buffer, number: number): Tail[] {
  const { kind, isInterior, pointers, pointersEnd, content } = boundsOf(page, number);
  if (kind === kinds.tableInterior) return [];
  const { most, least } = localBounds(file.pageSize, kind === kinds.tableLeaf);
  const tails: Tail[] = [];
  for (let pointer = pointers; pointer < pointersEnd; pointer += 2) {
    const cell = page.readUInt16BE(pointer);
    if (cell < content || cell + 4 > page.length) throw damaged(number, 'a row is out of place');
    const at = isInterior ? cell + 4 : cell;
    // A length below 128 has one byte: this spares most rows of indexes the rest.
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

/** How many bytes of a row may be in its tree, and how many are at least if the row is longer. */
function localBounds(usable: number, isTable: boolean): { most: number; least: number } {
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  return { least, most: isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23 };
}

/** Of the pages in which a row goes on, the last. `length`: bytes in them. */
function lastOf(file: PagedFile, { first, length, from }: { first: number; length: number; from: number }): Tail {
  const room = file.pageSize - 4;
  const next = Buffer.alloc(4);
  let page = first;
  for (let left = length; ; left -= room) {
    if (page < 2 || page > file.pages) throw damaged(from, `a row of it goes on at page ${page}`);
    readPages(file, page, next);
    if (left <= room) {
      if (next.readUInt32BE(0) !== 0) throw damaged(from, `a row of it does not end at page ${page}`);
      return { page, used: 4 + left };
    }
    page = next.readUInt32BE(0);
  }
}

/** A number of one to nine bytes, seven bits each but for the last (section 1.6). */
function varintAt(page: Buffer, at: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = page[at + index];
    if (byte === undefined) throw new DamagedPageError('a number goes beyond its page');
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return { value: value * 256 + (page[at + 8] ?? 0), end: at + 9 };
}

function damaged(number: number, what: string): DamagedPageError {
  return new DamagedPageError(`page ${number} is damaged: ${what}`);
}
