import type { Mutation } from './mutation.ts';

/** The file of the tests on a simulated disk that keeps no more than was synced. */
const file = 'test/simulation/power-cuts.test.ts';

/** Faults that show after a power cut, or after a sync that has failed. */
export const diskMutations: readonly Mutation[] = [
  {
    what: 'A start goes on behind commits that are in the memory of the system alone, for their sync has failed.',
    file: 'projections/start/boot.ts',
    text: 'if (!options.isReplica) renewWal(logFile(directory));',
    replacement: '',
    test: { file, name: 'nothing is missing that was acknowledged after a start that followed a failed sync' },
  },
  {
    what: 'The write-ahead log of the log is gone after a power cut, since the sync of its folder has failed.',
    file: 'projections/start/boot.ts',
    text: 'syncPath(directory);',
    replacement: '',
    test: { file, name: 'the write-ahead log has its name, or the process did not start' },
  },
  {
    what: 'The folder of the segments is gone after a power cut, with the first of them.',
    file: 'events/segments/segment-writer.ts',
    text: 'syncFolderNow(dirname(folder));',
    replacement: '',
    test: { file, name: 'the first segment is there, with its folder' },
  },
  {
    what: 'A power cut brings back the end of a write-ahead log that was cut off, with what was erased.',
    file: 'projections/tables/scrub.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a source
    text: 'for (const { name } of databases) syncPath(`${name}-wal`);',
    replacement: '',
    test: { file, name: 'no write-ahead log brings back what was erased' },
  },
  {
    what: 'A power cut brings back files that were removed, with what was erased.',
    file: 'projections/tables/scrub.ts',
    text: 'syncPath(directory);',
    replacement: '',
    test: { file, name: 'no file that was removed brings back what was erased' },
  },
  {
    what: 'Pages whose sync has failed are taken for clean by the next try, and are not so after a power cut.',
    file: 'storage/scrub.ts',
    text: 'for (const { bytes, position } of runs) writeAll(file, bytes, position);',
    replacement: '',
    test: { file, name: 'a failed sync of cleaned pages brings back nothing that was erased' },
  },
  {
    what: 'Pages that were cleaned by a try whose sync has failed are not synced by the next one.',
    file: 'storage/scrub.ts',
    text: 'if (cleaning.written > 0 || isDone) sync(cleaning);',
    replacement: 'if (cleaning.written > 0) sync(cleaning);',
    test: { file, name: 'a failed sync of cleaned pages brings back nothing that was erased' },
  },
  {
    what: 'The cleaner takes pages that say where others belong for pages of rows.',
    file: 'storage/scrub.ts',
    text: 'number === lockPage(file) || isMapPage(file, number)',
    replacement: 'number === lockPage(file)',
    test: { file: 'test/storage/scrub.test.ts', name: 'cleans pages again that are changed between its steps' },
  },
  {
    what: 'The log keeps the pages that archived payloads have left.',
    file: 'storage/sqlite.ts',
    text: 'if (options.shrinks)',
    replacement: 'if (options.shrinks && !path)',
    test: {
      file: 'test/events/segments.test.ts',
      name: 'returns the pages that payloads have left, except for those that the next payloads need',
    },
  },
  {
    what: 'A thread is started for each segment.',
    file: 'server/writer/lingering-archiver.ts',
    text: 'if (lingering?.file !== input.file || lingering.isOver())',
    replacement: 'if (input.file)',
    test: {
      file: 'test/writer/lingering-archiver.test.ts',
      name: 'the archiver thread of a log does its next work too, and gives way to that of another log',
    },
  },
  {
    what: 'Former segments that were removed by a try whose sync has failed come back after a power cut.',
    file: 'events/segments/segment-writer.ts',
    text: 'if (existsSync(folder)) syncFolderNow(folder);',
    replacement: 'if (strays.length > 0) syncFolderNow(folder);',
    test: { file, name: 'a failed sync of the folder of segments brings back nothing that was erased' },
  },
  {
    what: 'A start is refused after a power cut in the moment in which a read file got its write-ahead log.',
    file: 'projections/tables/files.ts',
    text: 'if (isDamage(error) || isHalfChanged(error)) return null;',
    replacement: 'if (isDamage(error)) return null;',
    test: {
      file: 'test/projections/boot.test.ts',
      name: 'builds a read file anew that a power cut has left with the journal of a change',
    },
  },
  {
    what: 'An erasure is said to be done while the read tables, which a full disk has left behind, still have what it takes.',
    file: 'projections/tables/scrub.ts',
    text: 'if ((selectReached.get() ?? 0) < newest) {',
    replacement: 'if (false) {',
    test: { file, name: 'nothing that was erased is said to be gone while the read tables still have it' },
  },
];
