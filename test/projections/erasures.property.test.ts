import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../config/define.ts';
import {
  decideInvite,
  decideLogin,
  decidePassword,
  decideResetRequest,
  decideRevoke,
} from '../../events/facts/accounts.ts';
import { accountStream, documentStream, inviteStream } from '../../events/facts/catalogue.ts';
import type { Change } from '../../events/facts/log.ts';
import { writeSegment } from '../../events/segments/segment-writer.ts';
import { openScrubber } from '../../projections/tables/scrub.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { runsOf } from '../helpers/runs.ts';
import { type Directory, dumpFile, findingIn, openDirectory, quickFolder } from './directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'users',
      auth: true,
      fields: [
        { name: 'name', type: 'text', unique: true },
        { name: 'about', type: 'textarea' },
        { name: 'friends', type: 'relationship', relationTo: 'users', hasMany: true },
      ],
    },
  ],
};

type Step = {
  do: 'create' | 'update' | 'remove' | 'account' | 'invite' | 'erase';
  pick: number;
  kind: number;
  size: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('create', 'account', 'invite') },
    { weight: 8, arbitrary: fc.constant('update') },
    { weight: 1, arbitrary: fc.constantFrom('remove', 'erase') },
  ) as fc.Arbitrary<Step['do']>,
  pick: fc.nat({ max: 50 }),
  kind: fc.nat({ max: 5 }),
  size: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 400 })),
});

/** A person of the test: everything that is said of them holds their mark. */
type Person = { id: string; mark: string; isLiving: boolean; isErased: boolean; invites: string[] };

function play(directory: Directory, steps: readonly Step[], salt: string): Person[] {
  const people: Person[] = [];
  for (const [index, { do: what, pick, kind, size }] of steps.entries()) {
    if (index % 20 === 19) archive(directory);
    const person = people[pick % Math.max(1, people.length)];
    const words = (mark: string) => ({ name: `${mark}-${index}`, about: `${mark} `.repeat(size) });
    if (what === 'create' || !person) {
      const mark = `${salt}m${people.length}z`;
      const id = directory.create('users', { email: `${mark}@x.org`, ...words(mark) });
      people.push({ id, mark, isLiving: true, isErased: false, invites: [] });
    } else if (what === 'erase') eraseOf(directory, person);
    else if (person.isErased) continue;
    else if (what === 'account') directory.record(accountChange(person, kind, index), contextOf(person));
    else if (what === 'invite') {
      const invite = `${salt}-invite-${index}`;
      // Ends soon, so that a later event purges it.
      const decision = decideInvite(
        { category: category('users'), id: invite },
        { email: `${person.mark}@x.org`, expiresAt: soon(directory, size) },
      );
      directory.record(decision, contextOf(person));
      person.invites.push(invite);
    } else if (!person.isLiving) continue;
    else if (what === 'remove') {
      directory.remove('users', person.id);
      person.isLiving = false;
    } else {
      const friends = people.filter((_, at) => (kind + at) % 3 === 0).map(({ id }) => id);
      directory.update('users', person.id, { ...words(person.mark), friends });
    }
  }
  return people;
}

/** Moves all but the newest payloads into segments. */
function archive({ log, readFile }: Directory): void {
  withDatabase(join(dirname(readFile), 'log.db'), { readonly: true }, (db) => {
    const pending = writeSegment(db, { events: 12, hot: 4 });
    if (pending) log.segments.keep(pending);
  });
  log.segments.shed(7);
}

function contextOf({ mark }: Person) {
  return { context: { ip: mark, userAgent: mark } };
}

/** In the time of the log, in which each event takes some milliseconds. */
function soon({ log }: Directory, size: number): Date {
  return new Date(Date.parse(log.head().recordedAt) + size);
}

function accountChange({ id, mark }: Person, kind: number, index: number): Change {
  const account = { category: category('users'), id };
  const expiresAt = new Date(Date.parse('2026-11-20T12:00:00.000Z') + index * 20);
  const session = { sid: `${mark}-${index}`, credential: `${mark}-key`, expiresAt };
  if (kind === 0) return decidePassword(account, `${mark}-key`);
  if (kind === 1) return decideResetRequest(account, { reset: `${mark}-${index}`, email: `${mark}@x.org`, expiresAt });
  if (kind === 2) return decideRevoke(account, null);
  return decideLogin(account, session);
}

function eraseOf({ log, record }: Directory, person: Person): void {
  if (person.isErased) return;
  const names = [
    documentStream(category('users'), person.id),
    accountStream(category('users'), person.id),
    ...person.invites.map((invite) => inviteStream(category('users'), invite)),
  ];
  const streams = names
    .map((stream) => ({ stream, versions: log.versionOf(stream) }))
    .filter(({ versions }) => versions > 0);
  const [first] = streams as [{ stream: string; versions: number }];
  const event = { type: 'document.erased' as const, data: { streams } };
  const change = { stream: first.stream, expectedVersion: first.versions, events: [event], claims: [], releases: [] };
  record(change, { erases: streams.map(({ stream }) => stream), context: { reason: 'asked to' } });
  person.isErased = true;
}

describe('erasures in random histories', () => {
  it('leave the same read tables as a replay of what is left, and nothing of what was said', () => {
    let run = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 160, size: 'max' }), (steps) => {
        const folder = quickFolder();
        const copy = quickFolder();
        const directory = openDirectory(folder, config);
        try {
          run += 1;
          const people = play(directory, steps, `q${run}`);
          if (!people.some(({ isErased }) => isErased)) eraseOf(directory, people[0] as Person);
          assert.equal(findingIn(folder), null);
          const { isClean } = openScrubber({ directory: folder, ...directory }).scrub([]);
          assert.equal(isClean, true);
          assert.deepEqual(directory.log.erasures.unfinished(), []);
          const gone = people.filter(({ isErased }) => isErased).map(({ mark }) => mark);
          assert.deepEqual(remainsIn(folder, gone), []);
          const rest = people.filter(({ isErased }) => !isErased).map(({ mark }) => mark);
          assert.equal(remainsIn(folder, rest).length > 0, rest.length > 0);
          assert.equal(findingIn(folder), null);
          for (const name of readdirSync(folder))
            if (name.startsWith('log.db') || name === 'segments')
              cpSync(join(folder, name), join(copy, name), { recursive: true });
          const replayed = openDirectory(copy, config);
          replayed.close();
          assert.equal(dumpFile(replayed.readFile), dumpFile(directory.readFile));
        } finally {
          directory.close();
          for (const path of [folder, copy]) rmSync(path, { recursive: true, force: true });
        }
      }),
      { numRuns: runsOf(12), endOnFailure: true },
    );
  });
});
