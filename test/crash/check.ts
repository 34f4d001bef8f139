import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../config/schema.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { logFile } from '../../projections/tables/files.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { bodyOf, type Call, path, type Story } from './clients.ts';

/** The events of one marker: its documents, and the notes and the end that each had. */
type Recorded = { id: string; document: JsonObject | null; notes: string[]; isDeleted: boolean };

/**
 * Holds what the service answers, and what its log holds, against all that was ever tried: every acknowledged write is
 * there exactly once, an unanswered one wholly or not at all.
 *
 * @returns the stories that go on: what was open is decided now, and must stay so in every later round.
 */
export async function checkStories(call: Call, data: string, stories: readonly Story[]): Promise<Story[]> {
  const recorded = readRecorded(data);
  const listed = await listAll(call);
  for (const story of stories) checkStory(story, recorded.get(story.marker) ?? [], listed.get(story.marker) ?? []);
  const known = new Set(stories.map(({ marker }) => marker));
  for (const marker of [...recorded.keys(), ...listed.keys()])
    assert.ok(known.has(marker), `${marker}: no client wrote it`);
  for (const { marker } of stories.slice(-5)) {
    const { body } = await search(call, marker);
    const documents = body.docs.filter((one: JsonObject) => one.marker === marker);
    assert.deepEqual(documents, listed.get(marker) ?? [], `${marker}: the search index has caught up with the log`);
  }
  return stories.filter(({ marker }) => recorded.has(marker));
}

/** Every document of the service by its marker, page by page. */
async function listAll(call: Call): Promise<Map<string, JsonObject[]>> {
  const found = new Map<string, JsonObject[]>();
  let total = 0;
  for (let page = 1; ; page += 1) {
    const { status, body } = await call('GET', `${path}?limit=100&page=${page}&sort=id`);
    assert.equal(status, 200);
    for (const document of body.docs as JsonObject[]) {
      const marker = String(document.marker);
      found.set(marker, [...(found.get(marker) ?? []), document]);
    }
    total += body.docs.length;
    if (body.hasNextPage) continue;
    assert.equal(total, body.total, 'the pages hold as many documents as the list says');
    return found;
  }
}

/** Searches for a marker, from when the index is opened. */
async function search(call: Call, marker: string) {
  for (let tries = 1; ; tries += 1) {
    const answer = await call('GET', `${path}?q=${encodeURIComponent(`"${marker}"`)}`);
    if (answer.status === 200) return answer;
    assert.ok(answer.status === 503 && tries < 20, JSON.stringify(answer.body));
  }
}

/** The log, folded by hand; it also proves that positions are without a gap and that the read file has caught up. */
function readRecorded(data: string): Map<string, Recorded[]> {
  const db = openDatabase(logFile(data), { readonly: true });
  try {
    const log = readLog(db);
    const { size, root } = log.head();
    assert.deepEqual(checkpointOf(data), { position: size, root }, 'the read file has caught up with the log');
    const streams = new Map<string, Recorded>();
    for (const [index, { header, data: payload }] of log.range(0, size).entries()) {
      assert.equal(header.position, index + 1, 'positions have no gap');
      const [category, id] = header.stream.split('/') as [string, string];
      if (category !== 'things' || payload === null) continue;
      const state = streams.get(id) ?? { id, document: null, notes: [], isDeleted: false };
      streams.set(id, state);
      assert.equal(state.isDeleted, false, `${id}: an event after its end`);
      const set = payload.set as JsonObject | undefined;
      if (set && 'note' in set) state.notes.push(String(set.note));
      const after = foldDocument(state.document, header.type, payload);
      state.isDeleted = after === null;
      state.document = after ?? state.document;
    }
    return Map.groupBy(streams.values(), ({ document }) => String(document?.marker));
  } finally {
    db.close();
  }
}

function checkpointOf(data: string): unknown {
  const names = readdirSync(data).filter((name) => /^read-[0-9a-f]+\.db$/.test(name));
  assert.equal(names.length, 1, 'there is one read file');
  const db = openDatabase(join(data, names[0] as string), { readonly: true });
  try {
    return db.prepare('SELECT position, root FROM checkpoint').get();
  } finally {
    db.close();
  }
}

function checkStory(story: Story, recorded: readonly Recorded[], listed: readonly JsonObject[]): void {
  const { marker, created, deleted } = story;
  assert.ok(recorded.length <= 1, `${marker} was created ${recorded.length} times`);
  const [record] = recorded;
  if (!record) {
    assert.equal(created.isAcknowledged, false, `${marker} was acknowledged and is lost`);
    assert.equal(listed.length, 0, `${marker} is listed and not in the log`);
    return;
  }
  assert.ok(story.id === null || story.id === record.id, `${marker} has another id than was answered`);
  if (record.isDeleted) assert.ok(deleted, `${marker} is gone, and no client deleted it`);
  else assert.ok(!deleted?.isAcknowledged, `${marker} was deleted, acknowledged, and is still there`);
  checkNotes(story, record.notes);

  assert.equal(listed.length, record.isDeleted ? 0 : 1, `${marker} is listed as often as it is alive`);
  const expected = { id: record.id, ...bodyOf(marker), note: record.notes.at(-1) ?? null };
  for (const document of [record.document, ...listed] as JsonObject[]) {
    const { createdAt: _created, updatedAt: _updated, ...fields } = document;
    assert.deepEqual(fields, expected, `${marker} is whole`);
  }
  settle(story, record);
}

/**
 * Every recorded note was tried, is there once, and in the order its client sent it; no acknowledged one is missing.
 */
function checkNotes({ marker, notes }: Story, recorded: readonly string[]): void {
  const clientOf = (value: string) => value.slice(0, value.lastIndexOf('-'));
  const found = new Set(recorded);
  const expected = notes.map(({ value }) => value).filter((value) => found.has(value));
  assert.deepEqual(
    Map.groupBy(recorded, clientOf),
    // In the order of the recorded ones: between clients any order is right.
    new Map([...new Set(recorded.map(clientOf))].map((client) => [client, of(client)])),
    `${marker}: its notes are there once and in order`,
  );
  for (const { value, isAcknowledged } of notes) {
    if (isAcknowledged) assert.ok(found.has(value), `${marker}: its acknowledged note ${value} is lost`);
  }

  function of(client: string): string[] {
    return expected.filter((value) => clientOf(value) === client);
  }
}

function settle(story: Story, record: Recorded): void {
  story.id = record.id;
  story.created.isAcknowledged = true;
  story.notes = story.notes.filter(({ value }) => record.notes.includes(value));
  for (const note of story.notes) note.isAcknowledged = true;
  if (record.isDeleted && story.deleted) story.deleted.isAcknowledged = true;
  else story.deleted = null;
}
