/**
 * The page numbers to show: the first, the last, and those around the current page. A number below 0 stands for a gap.
 */
export function pageNumbers(page: number, last: number): number[] {
  const near = [1, page - 1, page, page + 1, last].filter((number) => number >= 1 && number <= last);
  const numbers = [...new Set(near)].sort((one, other) => one - other);
  return numbers.flatMap((number, index) => {
    const before = numbers[index - 1];
    if (before === undefined || number - before === 1) return [number];
    // A gap in place of one page would not be shorter than its number.
    return number - before === 2 ? [number - 1, number] : [-number, number];
  });
}
