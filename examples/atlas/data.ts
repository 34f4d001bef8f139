import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Country } from 'world-countries';

/** The types of the package lack that `independent` is null for Kosovo. */
type Source = Omit<Country, 'independent'> & { independent: boolean | null };

/**
 * The documents of the example, from the npm package `world-countries`. They refer to each other by natural key:
 * regions and subregions by name, the others by code. `path` is the path of a flag's file.
 */
export function readAtlas() {
  const sources = JSON.parse(readFileSync(pathOf('countries.json'), 'utf8')) as Source[];
  const countries = sources.map(countryOf).sort((a, b) => a.name.localeCompare(b.name, 'en'));
  return {
    regions: unique(sources.map(({ region }) => [region, { name: region }])),
    subregions: unique(
      sources
        .filter(({ subregion }) => subregion)
        .map(({ region, subregion }) => [subregion, { name: subregion, region }]),
    ),
    // Countries do not agree on every name. The later name is better for languages ("Moldavian", "Romanian"), the
    // earlier name for currencies ("Danish krone", "krone").
    languages: unique(
      sources.flatMap(({ languages }) =>
        Object.entries(languages).map(([code, name]) => [code, { name, code }] as const),
      ),
    ),
    currencies: unique(
      sources
        .toReversed()
        .flatMap(({ currencies }) =>
          Object.entries(currencies).map(([code, { name, symbol }]) => [code, { name, code, symbol }] as const),
        ),
    ),
    flags: countries.map(({ name, code }) => {
      return { code, alt: `Flag of ${name}`, path: pathOf(`data/${code.toLowerCase()}.svg`) };
    }),
    countries,
    site: {
      title: 'Atlas',
      description: 'The countries of the world, their languages, currencies, borders and flags.',
      source: {
        name: 'mledoze/countries (npm: world-countries)',
        url: 'https://github.com/mledoze/countries',
        licence: 'Open Database License (ODbL) 1.0',
        licenceUrl: 'https://opendatacommons.org/licenses/odbl/1.0/',
        attribution:
          'Contains information from mledoze/countries, which is made available here under the Open Database License (ODbL).',
      },
    },
  };
}

function pathOf(file: string): string {
  return fileURLToPath(import.meta.resolve(`world-countries/${file}`));
}

function countryOf({ name, latlng: [latitude, longitude], demonyms, idd, ...source }: Source) {
  return {
    name: name.common,
    officialName: name.official,
    code: source.cca3,
    alpha2: source.cca2,
    numeric: source.ccn3 || null,
    emoji: source.flag,
    status: source.status,
    independent: source.independent,
    unMember: source.unMember,
    unGroup: source.unRegionalGroup || null,
    landlocked: source.landlocked,
    // -1 means unknown.
    area: source.area < 0 ? null : source.area,
    location: { latitude, longitude },
    region: source.region,
    subregion: source.subregion || null,
    languages: Object.keys(source.languages),
    currencies: Object.keys(source.currencies),
    borders: source.borders,
    capitals: source.capital.map((capital) => ({ name: capital })),
    nativeNames: Object.entries(name.native).map(([language, names]) => ({ language, ...names })),
    demonyms: {
      english: demonyms.eng?.m || null,
      frenchFeminine: demonyms.fra?.f || null,
      frenchMasculine: demonyms.fra?.m || null,
    },
    dialling: idd.root ? idd : null,
    domains: source.tld,
  };
}

/** The last item of each key, in the order of the keys. */
function unique<Row>(rows: readonly (readonly [string, Row])[]): Row[] {
  return [...new Map(rows)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
