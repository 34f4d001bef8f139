import { UsageError } from '../../server/settings/settings.ts';

/** A rule of `--keep`: of the last `count` hours, days or weeks, the newest backup of each. `span` is milliseconds. */
export type KeepRule = { count: number; span: number };

/** A backup of a series: its name, when it was taken, in milliseconds, and the position of its last event. */
type SavedBackup = { name: string; takenAt: number; size: number };

const spans: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Reads `--keep`, such as `24h,7d,8w`. @throws UsageError for any other text. */
export function readKeep(text: string): KeepRule[] {
  return text.split(',').map((part) => {
    const [, count = '', unit = ''] = /^([1-9]\d{0,4})([hdw])$/.exec(part.trim()) ?? [];
    const span = spans[unit];
    if (span === undefined)
      throw new UsageError(`--keep must be like 24h,7d,8w (hours, days, weeks), got ${JSON.stringify(text)}`);
    return { count: Number(count), span };
  });
}

/** Reads `--every`, such as `1h`, in milliseconds. @throws UsageError for any other text. */
export function readEvery(text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([smhdw])$/.exec(text) ?? [];
  const span = spans[unit];
  if (span === undefined)
    throw new UsageError(
      `--every must be like 30m, 1h or 1d (seconds, minutes, hours, days, weeks), got ${JSON.stringify(text)}`,
    );
  // A longer wait does not fit in a timer.
  return Math.min(Number(count) * span, 24 * 86_400_000);
}

/** The backups that no rule keeps. The newest is always kept, and without rules all are. */
export function superfluous(backups: readonly SavedBackup[], rules: readonly KeepRule[], now: number): SavedBackup[] {
  if (rules.length === 0) return [];
  const newestFirst = [...backups].sort((one, other) => other.takenAt - one.takenAt);
  const kept = new Set(newestFirst.slice(0, 1));
  for (const { count, span } of rules) {
    const current = Math.floor(now / span);
    const seen = new Set<number>();
    for (const backup of newestFirst) {
      const slot = Math.floor(backup.takenAt / span);
      if (slot <= current - count || seen.has(slot)) continue;
      seen.add(slot);
      kept.add(backup);
    }
  }
  return newestFirst.filter((backup) => !kept.has(backup));
}

/** The name of a backup in a series: names sort by time. */
export function nameOf(takenAt: Date, size: number, isEncrypted: boolean): string {
  const time = takenAt.toISOString().replace(/[-:.]/g, '');
  return `${time}-${String(size).padStart(10, '0')}.annals${isEncrypted ? '.age' : ''}`;
}

/** The name of a round: it has the events after a position, up to `size`. */
export function roundName(
  takenAt: Date,
  { after, size }: { after: number; size: number },
  isEncrypted: boolean,
): string {
  const whole = nameOf(takenAt, size, isEncrypted);
  return whole.replace('.annals', `.after-${String(after).padStart(10, '0')}.annals`);
}

/** A round of a series: it goes on from a backup, or a round, that ends at the position `after`. */
type Round = SavedBackup & { after: number };

/** Reads the name of a round; null for any other file. */
function readRound(name: string): Round | null {
  const [, after] = /\.after-(\d{10,16})\.annals(?:\.age)?$/.exec(name) ?? [];
  const kept = after === undefined ? null : readName(name.replace(`.after-${after}`, ''));
  return kept && { ...kept, name, after: Number(after) };
}

/** The rounds that go on from a backup, one from the other, in order. */
export function chainOf({ takenAt, size }: SavedBackup, names: readonly string[]): Round[] {
  const rounds = names.map(readRound).filter((one) => one !== null && one.takenAt > takenAt) as Round[];
  const chain: Round[] = [];
  for (let end = size; ; ) {
    const next = rounds.findLast(({ after, size: upTo }) => after === end && upTo > end);
    if (!next) return chain;
    chain.push(next);
    end = next.size;
  }
}

/** The rounds that no backup needs that is left: each belongs to the newest one before it. */
export function orphans(names: readonly string[], left: readonly SavedBackup[]): Round[] {
  const rounds = names.map(readRound).filter((one) => one !== null);
  const needed = new Set(left.flatMap((one) => chainOf(one, names)).map(({ name }) => name));
  return rounds.filter(({ name }) => !needed.has(name));
}

/** Reads the name of a backup of a series; null for any other file. */
export function readName(name: string): SavedBackup | null {
  const found = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(\d{10,16})\.annals(\.age)?$/.exec(name);
  if (!found) return null;
  const [, year, month, day, hour, minute, second, milliseconds, size] = found;
  const takenAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  return Number.isNaN(takenAt) ? null : { name, takenAt, size: Number(size) };
}
