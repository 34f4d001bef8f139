import { useDebouncedValue } from '@mantine/hooks';
import { type Collection, type Model, viewOf, viewOfAny } from '../../schema/model.ts';
import { titleField, titleOf } from '../../schema/titles.ts';
import { useAsOf } from '../../service/as-of.ts';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { useRead } from '../../service/queries.ts';
import { useAccount } from '../../service/session.ts';
import { addresses } from '../../shell/addresses.ts';
import type { IconName } from '../../theme/icons.tsx';
import { useWords, type Words } from '../../words/index.ts';
import { fitOf, fitting } from './entries.ts';
import { type Piece, piecesOf } from './excerpt.ts';
import { recentDocuments } from './recent.ts';

/** A line of the palette; without an address it opens the list of shortcuts. */
export type Option = { id: string; name: string; icon: IconName; to: string | null; hint?: string; pieces?: Piece[] };

/** The lines of one kind, under a heading. */
export type Section = { name: string; options: Option[] };

const pause = 120;
const mostHits = 20;

/** The lines that some words find. The service searches documents; the next key cancels the previous search. */
export function useSections(words: string) {
  const { palette, shell } = useWords();
  const model = useModel();
  const isNow = useAsOf() === null;
  const { hits, total, isSearching, isDone } = useHits(words);
  const recent = useRecentOptions(words === '');
  const pages = fitting(pagesOf(model, shell), words);
  const actions = fitting(actionsOf(model, { palette, isNow }), words);
  const most = words === '' ? 6 : 5;
  const acts = { name: palette.actions, options: actions.slice(0, most) };
  const found = { name: palette.found, options: hits };
  const isMeant = words !== '' && actions.some(({ name }) => fitOf(name, words) >= 3);
  const sections = [
    { name: palette.recent, options: recent },
    // A matching name comes before a document whose text holds the words.
    { name: palette.goTo, options: words === '' ? pages : pages.slice(0, most) },
    ...(isMeant ? [acts, found] : [found, acts]),
  ].filter(({ options }) => options.length > 0);
  return { sections, isSearching, isDone, found: total === null ? null : { shown: hits.length, total } };
}

function useHits(words: string) {
  const model = useModel();
  const isNow = useAsOf() === null;
  const [wanted] = useDebouncedValue(words.trim(), pause);
  const isWanted = isNow && /[\p{L}\p{N}]/u.test(wanted) && words.trim() !== '';
  const { data, isFetching, error } = useRead(
    ['search', wanted],
    ({ signal }) => client.search(wanted, { limit: mostHits, signal, ...viewOfAny(model) }),
    { enabled: isWanted, keep: true },
  );
  const shown = isWanted ? data : undefined;
  const hits = (shown?.docs ?? []).flatMap((hit): Option[] => {
    const collection = model.collections.get(hit.collection);
    if (collection === undefined) return [];
    const to = addressOf(collection, hit.id);
    const pieces = piecesOf(hit.excerpt);
    const isTitle = pieces.map(({ text }) => text).join('') === hit.title;
    const common = {
      id: `${hit.collection}-${hit.id}`,
      name: hit.title,
      to,
      icon: 'document',
      hint: collection.singular,
    } as const;
    return [isTitle ? common : { ...common, pieces }];
  });
  const isSearching = isWanted && (isFetching || wanted !== words.trim());
  return { hits, total: shown?.total ?? null, isSearching, isDone: !isSearching && (error !== null || words !== '') };
}

function addressOf(collection: Collection, id: string): string {
  return collection.isAuth ? addresses.person(collection.slug, id) : addresses.document(collection.slug, id);
}

/**
 * The documents that were opened last, if they are still there. Their titles are read with one call per collection.
 */
function useRecentOptions(isShown: boolean): Option[] {
  const model = useModel();
  const { collection: of, user } = useAccount();
  const recent = recentDocuments(`${of}/${user.id}`);
  const slugs = [...new Set(recent.map(({ slug }) => slug))].filter((slug) => model.collections.get(slug)?.access.read);
  const { data } = useRead(
    ['recent', recent],
    async (reading) => {
      const read = slugs.map(async (slug) => {
        const ids = recent.filter((one) => one.slug === slug).map(({ id }) => id);
        const collection = model.collections.get(slug) as Collection;
        const select = [titleField(collection)];
        const found = { where: { id: { in: ids } }, select, limit: ids.length, count: 'none' as const };
        const query = { ...found, ...reading, ...viewOf(collection) };
        const { docs } = await client.collection(slug).find(query);
        return docs.map((document) => [`${slug}/${document.id}`, document] as const);
      });
      return new Map((await Promise.all(read)).flat());
    },
    { enabled: isShown && slugs.length > 0 },
  );
  if (!isShown || data === undefined) return [];
  return recent.flatMap(({ slug, id }): Option[] => {
    const document = data.get(`${slug}/${id}`);
    const collection = model.collections.get(slug);
    if (document === undefined || collection === undefined) return [];
    const name = titleOf(collection, document);
    return [{ id: `recent-${id}`, name, icon: 'clock', to: addressOf(collection, id), hint: collection.singular }];
  });
}

function pagesOf(model: Model, shell: Words['shell']): Option[] {
  const collections = [...model.collections.values()].filter(({ access, hints }) => access.read && !hints.hidden);
  const lists = collections.map(({ slug, plural, isAuth }): Option => {
    const to = isAuth ? addresses.people(slug) : addresses.list(slug);
    return { id: `list-${slug}`, name: plural, icon: isAuth ? 'people' : 'list', to };
  });
  const globals = [...model.globals.values()]
    .filter(({ access, hints }) => access.read && !hints.hidden)
    .map(
      ({ slug, label }): Option => ({
        id: `global-${slug}`,
        name: label,
        icon: 'document',
        to: addresses.global(slug),
      }),
    );
  const hasUploads = collections.some(({ upload }) => upload);
  return [
    { id: 'home', name: shell.home, icon: 'home', to: addresses.home },
    ...lists,
    ...globals,
    ...(hasUploads ? [{ id: 'media', name: shell.media, icon: 'media', to: addresses.media } as const] : []),
    { id: 'trash', name: shell.trash, icon: 'trash', to: addresses.trash },
    { id: 'keys', name: shell.keys, icon: 'key', to: addresses.keys },
    { id: 'me', name: shell.me, icon: 'person', to: addresses.me },
  ];
}

function actionsOf(model: Model, { palette, isNow }: { palette: Words['palette']; isNow: boolean }): Option[] {
  const creatable = [...model.collections.values()].filter(({ access, isAuth, upload, hints }) => {
    return isNow && access.create && !isAuth && !upload && !hints.hidden;
  });
  return [
    ...creatable.map(({ slug, singular }): Option => {
      return { id: `new-${slug}`, name: palette.create(singular), icon: 'plus', to: addresses.create(slug) };
    }),
    { id: 'shortcuts', name: palette.shortcuts, icon: 'info', to: null },
  ];
}
