import { counted } from '../../config/counted.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365.25 * day;

const units = [
  ['year', year],
  ['day', day],
  ['hour', hour],
  ['minute', minute],
] as const;

/** A stretch of time as people say it, to one digit: `20 years`, `1.5 hours`, `12 seconds`. */
export function inWords(milliseconds: number): string {
  const [name, length] = units.find(([, length]) => inUnits(milliseconds, length) >= 1) ?? ['second', 1000];
  const count = inUnits(milliseconds, length);
  return counted(count, name);
}

function inUnits(milliseconds: number, length: number): number {
  return Math.round((milliseconds / length) * 10) / 10;
}
