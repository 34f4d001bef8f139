import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { heights, show, violations } from './accessibility.ts';
import { useAtlas } from './atlas.ts';
import { cutWords } from './cut-words.ts';
import { chief, describeAdmin, overhang, settled } from './helpers.ts';
import { addressesOf, pages, type Shown } from './pages.ts';

/** A width in pixels, and the scheme of colours that the system prefers. */
export type Look = readonly [width: number, scheme: 'light' | 'dark'];

/** Tests each page of the application in some looks. */
export function testEachPage(looks: readonly Look[]): void {
  describeAdmin('Each page of the application, with the atlas', (open) => {
    const service = useAtlas();
    let addressOf: (shown: Shown) => string;
    before(async () => {
      addressOf = await addressesOf(service);
    });
    const openIn = (width: number, page: Shown) =>
      open({
        service,
        path: addressOf(page),
        options: { viewport: { width, height: heights[width] ?? 800 }, reducedMotion: 'reduce' },
        ...(page.refusals && { refusals: page.refusals }),
        ...(!page.isOutside && { user: chief }),
      });

    for (const [name, shown] of Object.entries(pages)) {
      it(`is for everybody: axe-core finds nothing in ${name}, and it is not scrolled sideways, however narrow`, async () => {
        const { page } = await openIn(1280, shown);
        await shown.open?.(page);
        await settled(page);
        const found: Record<string, string[]> = {};
        for (const [width, scheme] of looks) {
          await show(page, width, scheme);
          const wrong = await violations(page);
          if (wrong.length > 0) found[`${width} ${scheme}`] = wrong;
        }
        assert.deepEqual(found, {});
        await page.setViewportSize({ width: 320, height: 568 });
        await settled(page);
        assert.equal(await overhang(page), 0, 'scrolled sideways');
      });
    }

    it('opens the text of each story in the editor, not as JSON that can only be read', async () => {
      const { body } = await service.call('GET', '/api/collections/stories');
      const { page, go } = await open({ service, user: chief });
      for (const { id, slug } of body.docs) {
        await go(`/c/stories/${id}`);
        await page.getByRole('textbox', { name: 'Text', exact: true }).waitFor();
        assert.equal(await page.getByText('you can only read it here').count(), 0, slug);
      }
    });

    it('shows whole words in German, on a phone and at a zoom of 400 %', async () => {
      const found: Record<string, string[]> = {};
      const plain = Object.entries(pages).filter(([, { open: opens }]) => opens === undefined);
      const refusals = plain.flatMap(([, shown]) => shown.refusals ?? []);
      const options = { locale: 'de-DE', reducedMotion: 'reduce' } as const;
      for (const user of [undefined, chief]) {
        const { page, go } = await open({ service, options, refusals, ...(user && { user }) });
        for (const [name, shown] of plain) {
          if ((shown.isOutside === true) === (user !== undefined)) continue;
          const note = async (look: string) => {
            const wrong = await cutWords(page);
            if ((await overhang(page)) > 0) wrong.push('scrolled sideways');
            if (wrong.length > 0) found[`${name}, ${look}`] = wrong;
          };
          await page.setViewportSize({ width: 390, height: 844 });
          await go(addressOf(shown));
          await note('390');
          // 1280 × 1024 pixels at 400 %.
          await page.setViewportSize({ width: 320, height: 256 });
          await note('320');
        }
      }
      assert.deepEqual(found, {});
    });
  });
}
