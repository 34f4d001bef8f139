import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

export type Cell = string | number;

/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 1 ? half : half - 1], sorted[half]];
  return (low + high) / 2;
}

/** The value below which this part of all values lies, for example 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}

/** Rounds to three digits: more have no meaning in a benchmark on a shared machine. */
export function round(value: number): Cell {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/** Prints a Markdown table. */
export function table(title: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const line = (cells: readonly Cell[]) => `| ${cells.join(' | ')} |`;
  const lines = [line(columns), line(columns.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)];
  process.stdout.write(`\n**${title}**\n\n${lines.join('\n')}\n`);
}

/** Prints whether a figure reaches its target. */
export function verdict(what: string, value: number, target: number): void {
  process.stdout.write(`\n${value >= target ? 'reached' : 'MISSED '}  ${what}: ${round(value)} (target ${target})\n`);
}

/** As {@link verdict}, for a figure that should be small. */
export function verdictAtMost(what: string, value: number, most: number): void {
  const how = value <= most ? 'reached' : 'MISSED ';
  process.stdout.write(`\n${how}  ${what}: ${round(value)} (target at most ${round(most)})\n`);
}

/** Describes the machine on which the figures were measured. */
export function machine(): string {
  const [cpu] = cpus();
  const sqlite = readFileSync(new URL('../node_modules/better-sqlite3/package.json', import.meta.url), 'utf8');
  return [
    `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    `Node ${process.version}, better-sqlite3 ${(JSON.parse(sqlite) as { version: string }).version}`,
    `load before: ${round(loadavg()[0] as number)}`,
  ].join(' · ');
}
