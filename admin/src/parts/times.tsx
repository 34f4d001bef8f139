import { useLanguage } from '../words/index.ts';

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
];

/** How long ago a moment was, in words: "3 minutes ago". */
export function agoOf(moment: string, language: string, now = Date.now()): string {
  const seconds = (Date.parse(moment) - now) / 1000;
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const unit = units.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? format.format(Math.trunc(seconds / unit[1]), unit[0]) : format.format(0, 'second');
}

/** A moment in full, in the zone of the browser. */
export function momentOf(moment: string, language: string): string {
  return new Date(moment).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' });
}

/** How long ago a moment was, with the moment in full as its title. */
export function Ago({ moment }: { moment: string }) {
  const language = useLanguage();
  return (
    <time dateTime={moment} title={momentOf(moment, language)}>
      {agoOf(moment, language)}
    </time>
  );
}
