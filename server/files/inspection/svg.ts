import { svgTagOf } from './markup.ts';

const longestTag = 8 * 1024;
const attributes = /[\t\n\r ]+([^\s=<>/"']+)[\t\n\r ]*=[\t\n\r ]*(?:"([^"<]*)"|'([^'<]*)')/gy;

/** CSS pixels of a length; `em` and `ex` in the letters of a browser's default. */
const units: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  q: 96 / 101.6,
  pt: 96 / 72,
  pc: 16,
  em: 16,
  rem: 16,
  ex: 8,
};

/**
 * Width and height of an SVG in CSS pixels: its size, or else its `viewBox`; NaN if it has neither. Not by image-size,
 * which reads the whole text again for every `<svg` in it, and knows neither prefixes nor commas.
 */
export function svgDimensions(text: string): { width: number; height: number } {
  const tag = svgTagOf(text, longestTag).replace(/^<[^\s/>]*/, '');
  const values = new Map<string, string>();
  for (const [, name = '', double, single] of tag.matchAll(attributes)) values.set(name, double ?? single ?? '');
  const [width, height] = [pixels(values.get('width')), pixels(values.get('height'))];
  const [boxWidth, boxHeight] = viewBox(values.get('viewBox'));
  return {
    width: Math.round(width ?? (height === null ? boxWidth : (height * boxWidth) / boxHeight)),
    height: Math.round(height ?? (width === null ? boxHeight : (width * boxHeight) / boxWidth)),
  };
}

/** Null for a value that is not an absolute length: `100%`, `auto`. */
function pixels(length = ''): number | null {
  const [, number, unit = ''] = /^\s*\+?((?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)([a-z]*)\s*$/i.exec(length) ?? [];
  const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined;
  return number === undefined || factor === undefined ? null : Number(number) * factor;
}

/** Width and height; NaN when they are not known. */
function viewBox(value = ''): [number, number] {
  const [, , width, height] = value.trim().split(/\s*,\s*|\s+/);
  return [Number(width ?? Number.NaN), Number(height ?? Number.NaN)];
}
