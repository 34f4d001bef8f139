import { Progress } from '@mantine/core';
import { Action } from '../../../parts/action.tsx';
import { sizeOf } from '../../../parts/sizes.ts';
import type { Collection } from '../../../schema/model.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import { Texts } from '../file/texts.tsx';
import { askedFields, reasonHeader } from '../files.ts';
import styles from './sending.module.css';
import type { FileSending } from './use-queue.ts';

type Props = {
  sending: FileSending;
  collection: Collection;
  retry: (key: number, data: Record<string, string>) => void;
  remove: (key: number) => void;
  /** True for a new file of an existing document, whose texts stay. */
  isReplacement?: boolean;
};

/** A file on its way: its progress, the texts it needs, or its error. */
export function SendingRow({ sending, collection, retry, remove, isReplacement = false }: Props) {
  const { media } = useWords();
  const language = useLanguage();
  const { key, item, state, problem, problems } = sending;
  const fields = isReplacement ? [] : askedFields(collection);
  const isAboutTexts = reasonHeader in problems || fields.some(({ name }) => name in problems);
  const hasTexts =
    state === 'asked' || (state === 'failed' && !sending.isRefused && (isAboutTexts || collection.requireReason));
  return (
    <li className={styles.row}>
      <div className={styles.line}>
        <span className={styles.name} title={item.name}>
          {item.name}
        </span>
        <span className={styles.state}>
          {state === 'waiting' && media.waiting}
          {state === 'sending' && `${Math.round(sending.share * 100)} %`}
          {state === 'sent' && <Icon name="check" size={16} />}
          {(state === 'asked' || state === 'failed') && sizeOf(item.size, language)}
        </span>
        {state === 'failed' && !hasTexts && !sending.isRefused && (
          <Action icon="refresh" label={media.retryNamed(item.name)} act={() => retry(key, sending.data)} />
        )}
        {state !== 'sent' && (
          <Action
            icon="close"
            label={state === 'failed' ? media.dismissNamed(item.name) : media.cancelNamed(item.name)}
            act={() => remove(key)}
          />
        )}
      </div>
      {state === 'sending' && (
        <Progress value={sending.share * 100} size="sm" aria-label={media.sentShare(item.name)} />
      )}
      {problem !== null && !isAboutTexts && (
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
      )}
      {hasTexts && (
        <div className={styles.texts}>
          <Texts
            fields={fields}
            values={sending.data}
            problems={problems}
            submit={media.upload}
            needsReason={collection.requireReason}
            onSubmit={(data) => retry(key, data)}
          />
        </div>
      )}
    </li>
  );
}
