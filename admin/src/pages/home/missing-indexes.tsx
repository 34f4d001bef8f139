import type { MissingIndex } from '../../../../client/index.ts';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { Ago } from '../../parts/times.tsx';
import { fieldAt, labelOf } from '../../schema/fields.ts';
import { useModel } from '../../service/model.tsx';
import { useWords } from '../../words/index.ts';
import styles from './home.module.css';

/** The fields by which lists were slow for lack of an index. It is for users who can have the configuration changed. */
export function MissingIndexes() {
  const { home } = useWords();
  const { missingIndexes } = useModel();
  if (missingIndexes.length === 0) return null;
  return (
    <Panel title={home.missingIndexes}>
      <p className={panelStyles.empty}>{home.missingIndexesText}</p>
      <ul className={panelStyles.rows}>
        {missingIndexes.map((one) => (
          <Row key={`${one.collection}.${one.field}`} missing={one} />
        ))}
      </ul>
    </Panel>
  );
}

function Row({ missing: { collection, field, reads, slowest, lastAt } }: { missing: MissingIndex }) {
  const { home } = useWords();
  const schema = useModel().collections.get(collection);
  const plural = schema?.plural ?? collection;
  const name = field === null ? home.search : labelOf(fieldAt(schema?.fields ?? [], field) ?? { name: field });
  return (
    <li>
      <span className={panelStyles.main}>
        {plural}: {name}
        <code className={styles.place}>
          {field === null ? `${collection}, admin.searchFields` : `${collection}.${field}, index: true`}
        </code>
      </span>
      <span className={panelStyles.soft}>
        {home.slowReads(reads, slowest)} · <Ago moment={lastAt} />
      </span>
    </li>
  );
}
