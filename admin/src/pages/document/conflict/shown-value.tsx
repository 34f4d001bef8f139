import type { DataField } from '../../../schema/fields.ts';
import { useTitles } from '../../../service/related-titles.ts';
import { useLanguage, useWords } from '../../../words/index.ts';
import styles from './conflict.module.css';
import { relatedIn, shownValue } from './shown.ts';

/** A value as text. Related documents are shown by their titles, and by their ids if they cannot be read. */
export function ShownValue({ field, value }: { field: DataField; value: unknown }) {
  const { form: words, shared } = useWords();
  const language = useLanguage();
  const titles = useTitles(relatedIn(field, value));
  const text = shownValue(field, value, { language, yes: shared.yes, no: shared.no, titles });
  return text === '' ? <p className={styles.empty}>{words.empty}</p> : <p className={styles.value}>{text}</p>;
}
