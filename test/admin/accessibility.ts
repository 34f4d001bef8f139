import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** The rules of axe-core: WCAG 2.2 A and AA, and good practice. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

type Results = {
  violations: { id: string; impact: string; nodes: { target: unknown; html: string; any: { message: string }[] }[] }[];
};

export const widths = { phone: 390, tablet: 768, laptop: 1280, desktop: 1440 };
export const heights: Record<number, number> = { 320: 640, 390: 844, 768: 1024, 1280: 800, 1440: 900 };

/** The violations that axe-core finds in a page as it is, of any impact: each with the first of the elements. */
export async function violations(page: Page): Promise<string[]> {
  // Parts that fade in have too little contrast until they are there.
  await page.evaluate(async () => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
  });
  // The page does not load the script, so the policy does not forbid it.
  await page.evaluate(source);
  const results = await page.evaluate((values) => {
    const { axe } = globalThis as unknown as { axe: { run: (root: Document, options: object) => Promise<Results> } };
    return axe.run(document, { runOnly: values, resultTypes: ['violations'] });
  }, tags);
  return results.violations.map(({ id, impact, nodes }) => {
    const [first] = nodes;
    return `${id} (${impact}, ${nodes.length}): ${first?.html.slice(0, 200)} ${first?.any[0]?.message ?? ''}`;
  });
}

/** Shows a page in a width and scheme. */
export async function show(page: Page, width: number, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.setViewportSize({ width, height: heights[width] ?? 800 });
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  // Styles that follow come with the next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}
