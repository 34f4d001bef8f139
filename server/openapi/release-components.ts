import {
  anything,
  choice,
  closed,
  count,
  described,
  either,
  flag,
  listOf,
  ofType,
  orNull,
  pageOf,
  place,
  refTo,
  text,
  time,
  withKeywords,
} from './basics.ts';
import { schemaRef } from './fields.ts';
import { actor } from './pointing-components.ts';

/** The states of a release, in words of answers. */
const state = choice(['open', 'scheduled', 'published', 'failed', 'archived']);

const problem = closed({ field: described(text, 'The path, from the item on.'), code: text, message: text });

const ofItem = {
  action: choice(['publish', 'unpublish']),
  version: described(orNull(place), 'The version whose draft becomes public; `null` for `unpublish`.'),
  newest: described(orNull(place), 'The newest version of the draft; `null` if the document is gone.'),
  title: described(orNull(text), '`null` if the caller may not read it.'),
  problems: described(listOf(problem), 'Of the last attempt; and that the document is gone.'),
};

const item = either(
  closed({ collection: described(text, 'The slug of the collection.'), id: text, ...ofItem }),
  closed({ global: described(text, 'The slug of the global.'), ...ofItem }),
);

const ofRelease = {
  id: text,
  title: text,
  description: orNull(text),
  state,
  at: described(orNull(time), 'The time at which it is published, or was to be.'),
  timeZone: described(orNull(text), 'The IANA name of the time zone to show `at` in.'),
  createdAt: time,
  createdBy: actor,
  scheduledBy: described(orNull(actor), 'The caller who set `at`.'),
  publishedAt: orNull(time),
  batch: described(orNull(text), 'The id in each event of the publication, by which it can be undone.'),
  version: described(place, 'For `If-Match`, which takes the `ETag`.'),
};

const listed = closed({ ...ofRelease, itemCount: count });

const release = closed({ ...ofRelease, items: listOf(item) });

const check = closed({
  problems: described(listOf(problem), 'The release cannot be published with any of these.'),
  overwritten: described(
    // biome-ignore lint/suspicious/noThenProperty: a schema is never awaited
    listOf(closed({ field: text, now: anything, then: anything })),
    'Public values that changed after the change that replaces them.',
  ),
  notPublished: described(
    listOf(closed({ field: text, collection: text, id: text, title: text })),
    'Documents that are referred to, and that readers would not see.',
  ),
  releases: described(
    listOf(closed({ field: text, id: text, title: text })),
    'Other releases that are still to come, with the same document.',
  ),
});

const view = either(
  closed({ release: described(text, 'The id of a release: the site as it would make it.') }),
  closed({ asOf: described(time, 'A time to come: the site as the releases planned until then would make it.') }),
  closed({ draft: described(flag, 'Always true: the newest state of what anybody could read if it were public.') }),
);

const keptToken = closed({
  id: text,
  view,
  maker: described(text, 'The collection and id of a user, or the id of an API key.'),
  createdAt: time,
  expiresAt: time,
});

/** The schemas of answers about releases, and about the tokens that show them. */
export const releaseSchemas = {
  Release: release,
  Releases: pageOf(listed),
  ReleaseCheck: check,
  KeptPreviewToken: keptToken,
  PreviewTokens: pageOf(refTo('KeptPreviewToken', keptToken)),
  ViewToken: closed(
    {
      token: described(text, 'Shows the draft, or the view, to anyone who has it.'),
      expiresAt: described(time, 'Of a token of a view.'),
    },
    ['token'],
  ),
};

const newItem = either(
  closed({ collection: text, id: text, action: ofItem.action, version: place }, ['collection', 'id']),
  closed({ global: text, action: choice(['publish']), version: place }, ['global']),
);

const items = withKeywords(listOf(newItem), { maxItems: 1000 });

/** The bodies of the routes of releases. */
export const releaseBodies = {
  NewRelease: closed(
    {
      title: withKeywords(text, { minLength: 1, maxLength: 200 }),
      description: orNull(withKeywords(text, { maxLength: 10_000 })),
      at: orNull(time),
      timeZone: orNull(text),
      items,
      publish: described(flag, 'True: publishes at once.'),
    },
    ['title'],
  ),
  ReleaseChange: closed(
    {
      title: withKeywords(text, { minLength: 1, maxLength: 200 }),
      description: orNull(withKeywords(text, { maxLength: 10_000 })),
    },
    [],
  ),
  ReleaseItems: closed({ items }),
  Schedule: closed({ at: time, timeZone: orNull(text) }, ['at']),
  NewPreview: either(
    ofType<unknown>(schemaRef('Preview')),
    closed(
      {
        view,
        expiresIn: described(withKeywords(place, { minimum: 60, maximum: 2_592_000, default: 604_800 }), 'Seconds.'),
      },
      ['view'],
    ),
  ),
};
