import type { Page } from 'playwright-core';

/**
 * The words of a page that are cut off by a box, or broken over two lines. Three dots, and the breaks of an address,
 * are meant.
 */
export function cutWords(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = new Set<string>();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const { parentElement: parent, textContent: text } = node;
      if (parent === null || text === null || !parent.checkVisibility({ visibilityProperty: true })) continue;
      const boxes = clipping(parent);
      if (boxes === null) continue;
      for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}]{3,}/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const rects = [...range.getClientRects()].filter(({ width }) => width > 0.5);
        const isBroken = new Set(rects.map(({ top }) => Math.round(top))).size > 1 && !text.includes('://');
        const isCut = rects.some(({ left, right }) =>
          boxes.some((box) => left < box.left - 1 || right > box.right + 1),
        );
        if (isBroken || isCut) found.add(`${word} in "${text.trim().slice(0, 60)}"`);
      }
    }
    return [...found];

    /**
     * The boxes that cut off what sticks out of them; null for what is hidden from sight, can be scrolled, or ends with
     * three dots.
     */
    function clipping(element: Element): DOMRect[] | null {
      const boxes: DOMRect[] = [];
      for (let box: Element | null = element; box !== null && box !== document.body; box = box.parentElement) {
        const { overflowX, textOverflow, clip, clipPath } = getComputedStyle(box);
        if (textOverflow === 'ellipsis' || clip !== 'auto' || clipPath !== 'none') return null;
        if (overflowX === 'auto' || overflowX === 'scroll') return boxes;
        if (overflowX !== 'visible') boxes.push(box.getBoundingClientRect());
      }
      return boxes;
    }
  });
}
