import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError, inBody, invalidField } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { releaseIdOf, releaseStream } from '../../../events/facts/catalogue.ts';
import type { Change } from '../../../events/facts/log.ts';
import {
  decideRelease,
  decideReleaseEnd,
  decideReleaseItems,
  decideReleaseRemoval,
  decideReleaseUpdate,
  type ReleaseSubject,
} from '../../../events/facts/releases.ts';
import { requireReleases } from '../../access/release-rights.ts';
import type { RouteCall } from '../../app.ts';
import { locationOf } from '../../http/location.ts';
import { headersIn } from '../bulk/answers.ts';
import { once } from '../concurrency/idempotency.ts';
import { sendTagged } from '../read/sending.ts';
import { write } from '../write/writes.ts';
import { execute } from './execution.ts';
import { type FoundRelease, livingOf, releaseOf, requireReleaseVersion, tagOf } from './finding.ts';
import { authorizeItems, pinItems } from './items.ts';
import {
  type AskedItem,
  maxItems,
  type NewReleaseRequest,
  plannedTime,
  type ReleaseChangeRequest,
} from './requests.ts';
import { releaseView } from './views.ts';

/** A request that changes releases, whose body has been read. */
export type ReleaseCall = RouteCall & { h: ResponseToolkit; body: unknown };

/** The path of the routes. */
export const releasesPath = '/api/releases';

/** Answers with a release, as it is now. */
export async function answerRelease(call: RouteCall & { h: ResponseToolkit }, id: string): Promise<ResponseObject> {
  const release = releaseOf(call, id);
  return sendTagged(call.h, JSON.stringify(await releaseView(call, release)), tagOf(release));
}

/** Makes a release, and publishes it at once if that is asked for. */
export async function createRelease(call: ReleaseCall, asked: NewReleaseRequest): Promise<ResponseObject> {
  const { app } = call;
  const { title, description, items: wanted, publish, at, timeZone } = asked;
  const time = at === null ? null : plannedTime({ at, timeZone }, app.clock.believed());
  if (publish || time) await requireReleases(call, 'publish');

  async function create(): Promise<ResponseObject> {
    const { id } = app.ids.next();
    if (publish) {
      const { items } = await pinItems(call, wanted);
      const change = decideRelease({ id, title, description, time, items });
      await execute(call, { id, making: { change, items }, planned: null });
    } else {
      await write(call, releaseStream(id), async () => {
        const { items, locks } = await underRule(call, () => pinItems(call, wanted));
        return { decision: decideRelease({ id, title, description, time, items }), also: locks, answer: null };
      });
    }
    return made(id);
  }

  async function made(id: string): Promise<ResponseObject> {
    const answer = await answerRelease(call, id);
    return answer.code(201).location(locationOf(app, `${releasesPath}/${id}`));
  }

  return once(call, create, async (recorded, position) => {
    // Of a release that was not published at once, this is the rest of the name of its stream.
    const own = releaseIdOf(`system/${recorded}`);
    const [first] = own === null ? headersIn(app, recorded, position) : [];
    return made(own ?? releaseIdOf(first?.stream ?? '') ?? '');
  });
}

/** Changes the texts of a release. */
export function changeRelease(call: ReleaseCall, id: string, asked: ReleaseChangeRequest): Promise<ResponseObject> {
  return change(call, id, async ({ title, description, version }) => {
    const set = {
      ...(asked.title !== undefined && asked.title !== title && { title: asked.title }),
      ...(asked.description !== undefined && asked.description !== description && { description: asked.description }),
    };
    return { decision: Object.keys(set).length > 0 ? decideReleaseUpdate(id, version, set) : null };
  });
}

/** Sets items of a release: adds them, or replaces the items about the same documents. */
export function setItems(call: ReleaseCall, id: string, asked: readonly AskedItem[]): Promise<ResponseObject> {
  return change(call, id, async ({ items: before, version }) => {
    const { items, locks } = await pinItems(call, asked);
    const names = new Set([...before, ...items].map(({ category, id: document }) => `${category}/${document}`));
    if (names.size > maxItems)
      throw invalidField(
        inBody('items', 'max_items', { limit: maxItems }),
        `would be ${names.size}, and may be ${maxItems}`,
      );
    return { decision: items.length > 0 ? decideReleaseItems(id, version, items) : null, also: locks };
  });
}

/** Removes an item from a release. @throws DomainError `not_found` if it has no such item. */
export function removeItem(call: ReleaseCall, id: string, subject: ReleaseSubject): Promise<ResponseObject> {
  return change(call, id, async ({ items, version }) => {
    const isThere = items.some((item) => item.category === subject.category && item.id === subject.id);
    if (!isThere) throw new DomainError('not_found', `the release has no item about ${show(subject.id)}`);
    return { decision: decideReleaseRemoval(id, version, [subject]) };
  });
}

/** Plans a release for a time. The caller must be allowed to publish each item now, for no rule is asked then. */
export function scheduleRelease(
  call: ReleaseCall,
  id: string,
  asked: { at: string; timeZone: string | null },
): Promise<ResponseObject> {
  return change(call, id, async ({ items, version }) => {
    const time = plannedTime(asked, call.app.clock.believed());
    await authorizeItems(call, items);
    return { decision: decideReleaseUpdate(id, version, { time }) };
  });
}

/** Takes the time of a release away. */
export function unscheduleRelease(call: ReleaseCall, id: string): Promise<ResponseObject> {
  return change(call, id, async ({ time, version }) => {
    return { decision: time ? decideReleaseUpdate(id, version, { time: null }) : null };
  });
}

/** Archives a release that is not published. */
export function archiveRelease(call: ReleaseCall, id: string): Promise<ResponseObject> {
  return change(call, id, async ({ version }) => ({ decision: decideReleaseEnd(id, version) }));
}

/** Publishes a release now. */
export async function publishRelease(call: ReleaseCall, id: string): Promise<ResponseObject> {
  const requireVersion = (version: number) => requireReleaseVersion(call.request, version);
  async function publish(): Promise<ResponseObject> {
    await execute(call, { id, making: null, planned: null, requireVersion });
    return answerRelease(call, id);
  }
  return once(call, publish, () => answerRelease(call, id));
}

/** Changes a release that is still to come. */
function change(
  call: ReleaseCall,
  id: string,
  decide: (release: FoundRelease) => Promise<{ decision: Change | null; also?: Change[] }>,
): Promise<ResponseObject> {
  async function run(): Promise<ResponseObject> {
    await write(call, releaseStream(id), async () => {
      const release = livingOf(call, id);
      requireReleaseVersion(call.request, release.version);
      return { ...(await underRule(call, () => decide(release))), answer: null };
    });
    return answerRelease(call, id);
  }
  return once(call, run, () => answerRelease(call, id));
}

/** Asks other rules: the events about the release itself name the rule that admitted the call. */
async function underRule<T>({ request }: RouteCall, run: () => Promise<T>): Promise<T> {
  const { rule } = request.app;
  const result = await run();
  if (rule !== undefined) request.app.rule = rule;
  return result;
}
