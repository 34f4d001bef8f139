type Node = { type: string; attrs?: Record<string, unknown>; marks?: Node[]; content?: Node[]; text?: string };
type Inline = string | Node;

/** The ids of the documents to which stories refer, by ISO 3166-1 alpha-3. */
export type Ids = { country: (code: string) => string; flag: (code: string) => string };

/** A story with its history: the first version, then each change, with the reason that the history shows. */
export type Story = { slug: string; versions: { reason: string; data: Record<string, unknown> }[] };

const node = (type: string, content: readonly Inline[], attrs?: Node['attrs']): Node => ({
  type,
  ...(attrs && { attrs }),
  content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
});
const rich = (...content: Node[]) => node('doc', content);
const text = (...content: Inline[]) => node('paragraph', content);
const heading = (words: string) => node('heading', [words], { level: 2 });
const list = (...items: string[]) =>
  node(
    'bulletList',
    items.map((item) => node('listItem', [text(item)])),
  );
const bold = (words: string): Node => ({ type: 'text', text: words, marks: [{ type: 'bold' }] });
const italic = (words: string): Node => ({ type: 'text', text: words, marks: [{ type: 'italic' }] });
const link = (words: string, href: string): Node => ({
  type: 'text',
  text: words,
  marks: [{ type: 'link', attrs: { href } }],
});
const picture = (id: string, alt: string): Node => ({ type: 'image', attrs: { collection: 'flags', id, alt } });

/** Short true stories about countries of the data set. */
export function readStories(ids: Ids): Story[] {
  return [bouvet(ids), doublyLandlocked(ids), nepal(ids), sameFlag(ids), enclaves(ids)];
}

function bouvet({ country, flag }: Ids): Story {
  const textOf = (year: number) =>
    rich(
      text('In the South Atlantic, some 1,700 km from the coast of Antarctica, lies ', bold('Bouvet Island'), '.'),
      text(
        `The French officer Jean-Baptiste Charles Bouvet de Lozier saw it first, on 1 January ${year}. ` +
          'Since 1930 it has been a dependency of Norway, since 1971 a nature reserve. Ice covers more than nine tenths of it.',
      ),
      heading('A place on the Internet'),
      text('It has a top-level domain, ', italic('.bv'), ', in which no name can be registered, and no capital.'),
    );
  return {
    slug: 'an-island-without-people',
    versions: [
      {
        reason: 'First draft',
        data: {
          title: 'An island without people',
          slug: 'an-island-without-people',
          intro: 'Bouvet Island has a code, a flag and a domain, but no inhabitants.',
          text: textOf(1738),
          countries: [country('BVT'), country('NOR')],
          cover: flag('BVT'),
        },
      },
      { reason: 'The year was wrong: it was seen on New Year’s Day of 1739', data: { text: textOf(1739) } },
      {
        reason: 'The figures of the data set added',
        data: {
          sections: [
            {
              blockType: 'facts',
              caption: 'Bouvet Island',
              facts: [
                { label: 'Area', value: '49 km²' },
                { label: 'Inhabitants', value: 'none' },
                { label: 'Capital', value: 'none' },
              ],
            },
          ],
        },
      },
      { reason: 'Read by a second pair of eyes', data: { status: 'published', publishedOn: '2026-09-14' } },
    ],
  };
}

function doublyLandlocked({ country, flag }: Ids): Story {
  const beginning = [
    text('Forty-odd countries have no coast. Two of them have only neighbours that have none either:'),
    list('Liechtenstein, between Austria and Switzerland', 'Uzbekistan, with five neighbours'),
  ];
  return {
    slug: 'two-borders-to-the-sea',
    versions: [
      {
        reason: 'First draft',
        data: {
          title: 'Two borders to the sea',
          slug: 'two-borders-to-the-sea',
          intro: 'From Liechtenstein and Uzbekistan, the way to any ocean crosses two borders at least.',
          text: rich(...beginning),
          countries: [country('LIE'), country('UZB')],
        },
      },
      {
        reason: 'Crown and Caspian added',
        data: {
          text: rich(
            ...beginning,
            heading('Is the Caspian Sea a sea?'),
            text(
              'Kazakhstan and Turkmenistan lie at the Caspian Sea. It has no way to an ocean, so it counts as a lake here.',
            ),
            heading('The crown of Liechtenstein'),
            picture(flag('LIE'), 'Flag of Liechtenstein'),
            text(
              'At the Olympic Games of 1936, Liechtenstein found that its flag looked like that of Haiti. ' +
                'The next year it put a crown on its own.',
            ),
          ),
          cover: flag('LIE'),
          sections: [
            { blockType: 'picture', picture: flag('HTI'), caption: 'The flag of Haiti today, with its coat of arms.' },
          ],
        },
      },
      { reason: 'Published', data: { status: 'published', publishedOn: '2026-09-28' } },
    ],
  };
}

function nepal({ country, flag }: Ids): Story {
  return {
    slug: 'a-flag-by-compass-and-ruler',
    versions: [
      {
        reason: 'First draft',
        data: {
          title: 'A flag by compass and ruler',
          slug: 'a-flag-by-compass-and-ruler',
          intro: 'The constitution of Nepal explains, line by line, how to draw its flag.',
          text: rich(
            text('Nepal has the only flag of a state that is not a rectangle: two pennants, one above the other.'),
            text('Its shape of today is of 16 December 1962.'),
          ),
          countries: [country('NPL')],
        },
      },
      {
        reason: 'A quotation, and the picture',
        data: {
          cover: flag('NPL'),
          sections: [
            {
              blockType: 'quote',
              words:
                'On the lower portion of a crimson cloth draw a line AB of the required length from left to right.',
              caption: 'Constitution of Nepal, Schedule 1',
            },
            { blockType: 'picture', picture: flag('NPL'), caption: 'The moon above, the sun below.' },
          ],
        },
      },
      { reason: 'Published', data: { status: 'published', publishedOn: '2026-10-12' } },
    ],
  };
}

function sameFlag({ country, flag }: Ids): Story {
  return {
    slug: 'one-flag-two-countries',
    versions: [
      {
        reason: 'First draft',
        data: {
          title: 'One flag, two countries',
          slug: 'one-flag-two-countries',
          intro: 'Chad and Romania fly the same blue, yellow and red.',
          text: rich(
            text('Chad took its flag in 1959. Romania had its coat of arms on the yellow until December 1989.'),
            text(
              'Since then only the blue differs, by a shade. More in ',
              link('an article on the flag of Chad', 'https://en.wikipedia.org/wiki/Flag_of_Chad'),
              '.',
            ),
          ),
          countries: [country('TCD'), country('ROU')],
          cover: flag('TCD'),
        },
      },
      {
        reason: 'Both flags, one below the other',
        data: {
          sections: [
            { blockType: 'picture', picture: flag('TCD'), caption: 'Chad' },
            { blockType: 'picture', picture: flag('ROU'), caption: 'Romania' },
          ],
        },
      },
      { reason: 'Published', data: { status: 'published', publishedOn: '2026-11-02' } },
    ],
  };
}

function enclaves({ country, flag }: Ids): Story {
  return {
    slug: 'countries-with-one-neighbour-all-around',
    versions: [
      {
        reason: 'First draft',
        data: {
          title: 'Countries with one neighbour all around',
          slug: 'countries-with-one-neighbour-all-around',
          intro: 'Three states lie wholly inside another one: two in Italy, one in South Africa.',
          text: rich(list('Lesotho, in South Africa', 'San Marino, in Italy', 'Vatican City, in Rome')),
          countries: [country('LSO'), country('SMR'), country('VAT')],
        },
      },
      { reason: 'A cover, so that the list is not grey', data: { cover: flag('LSO') } },
    ],
  };
}
