import { momentOf } from '../parts/times.tsx';
import { useAsOf, useSetAsOf } from '../service/as-of.ts';
import { useLanguage, useWords } from '../words/index.ts';
import styles from './as-of-band.module.css';

/** The band that says that not today's content is shown. */
export function AsOfBand() {
  const { shell } = useWords();
  const language = useLanguage();
  const asOf = useAsOf();
  const setAsOf = useSetAsOf();
  if (asOf === null) return null;
  const moment = Number.isNaN(Date.parse(asOf)) || /^\d+$/.test(asOf) ? asOf : momentOf(asOf, language);
  return (
    <div className={styles.band} role="status">
      <span>{shell.asOfBand(moment)}</span>
      <button type="button" onClick={() => setAsOf(null)}>
        {shell.backToNow}
      </button>
    </div>
  );
}
