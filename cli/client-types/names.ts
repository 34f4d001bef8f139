import type { Collection, Global, Model } from '../../config/model.ts';

/** The names that the file declares whatever the configuration, and those that it takes from the language. */
const reserved = [
  'Annals',
  'Below',
  'Exclude',
  'IdFilter',
  'Json',
  'JsonInput',
  'ListFilter',
  'Object',
  'OrderFilter',
  'PresenceFilter',
  'Record',
  'Related',
  'TextFilter',
  'ValueFilter',
];

/** The parts that a collection or global declares under its name. */
const endings = { collection: ['', 'Create', 'Update', 'Filters', 'Sorts', 'Types'], global: ['', 'Update', 'Types'] };

/** The names of a file, each of which may be declared once. */
export type Names = {
  /** The name of each collection and global. */
  of: ReadonlyMap<Collection | Global, string>;
  /** A name that nothing has yet, with these endings neither: this one, or with a number behind it. */
  take: (name: string, endings?: readonly string[]) => string;
};

/**
 * Names every collection and global: by its label in the singular, else by its slug. They come before all other names,
 * so that a field that is added does not rename them.
 */
export function namesOf({ collections, globals }: Model): Names {
  const taken = new Set(reserved);
  const of = new Map<Collection | Global, string>();

  function take(name: string, endings: readonly string[] = ['']): string {
    let free = name;
    for (let number = 2; endings.some((ending) => taken.has(free + ending)); number += 1) free = `${name}${number}`;
    for (const ending of endings) taken.add(free + ending);
    return free;
  }

  for (const one of [...collections.values(), ...globals.values()]) {
    const label = one.kind === 'collection' ? one.schema.labels?.singular : one.schema.label;
    of.set(one, take(pascal(label ?? '') || pascal(one.slug) || '_', endings[one.kind]));
  }
  return { of, take };
}

/** A text as the name of a type, `press-releases` as `PressReleases`; '' if no character of it may be in a name. */
export function pascal(text: string): string {
  const words = text.normalize('NFC').match(/[\p{ID_Continue}--_]+/gv) ?? [];
  const name = words.map((word) => word.replace(/^./u, (first) => first.toUpperCase())).join('');
  return name === '' || /^\p{ID_Start}/u.test(name) ? name : `_${name}`;
}
