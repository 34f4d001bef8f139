import { momentOf } from '../parts/times.tsx';
import { useAsOf, useSetAsOf } from '../service/as-of.ts';
import { usePositionOf } from '../service/as-of-position.ts';
import { Icon } from '../theme/icons.tsx';
import { useLanguage, useWords } from '../words/index.ts';
import styles from './as-of-band.module.css';

/** The band that says that the pages show content of the past. */
export function AsOfBand() {
  const { shell } = useWords();
  const language = useLanguage();
  const asOf = useAsOf();
  const setAsOf = useSetAsOf();
  const position = usePositionOf(asOf);
  if (asOf === null) return null;
  const isPosition = /^\d+$/.test(asOf);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(asOf);
  const moment = isPosition || isDay || Number.isNaN(Date.parse(asOf)) ? asOf : momentOf(asOf, language);
  return (
    <div className={styles.band} role="status">
      <Icon name="clock" size={16} />
      <span>
        {isPosition ? shell.asOfPosition(asOf) : shell.asOfBand(moment)}
        {!isPosition && position !== undefined && ` ${position === 0 ? shell.beforeFirst : shell.position(position)}`}{' '}
        {shell.readOnly}
      </span>
      <button type="button" onClick={() => setAsOf(null)}>
        {shell.backToNow}
      </button>
    </div>
  );
}
