import { Button, Progress, TextInput } from '@mantine/core';
import { type FormEvent, useId, useState } from 'react';
import { Action } from '../../parts/action.tsx';
import type { DataField } from '../../schema/fields.ts';
import { labelOf } from '../../schema/fields.ts';
import type { Collection } from '../../schema/model.ts';
import { Icon } from '../../theme/icons.tsx';
import { useLanguage, useWords } from '../../words/index.ts';
import { askedFields, isNeeded, reasonHeader, reasonName, sizeOf } from './files.ts';
import styles from './sending.module.css';
import type { FileSending } from './use-queue.ts';

type Props = {
  sending: FileSending;
  collection: Collection;
  retry: (key: number, data: Record<string, string>) => void;
  remove: (key: number) => void;
  /** Another file for a document that is there, whose texts stay. */
  isReplacement?: boolean;
};

/** A file on its way: how far it is, what it needs, or what was wrong with it. */
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
        <Texts
          fields={fields}
          values={sending.data}
          problems={problems}
          submit={media.upload}
          needsReason={collection.requireReason}
          onSubmit={(data) => retry(key, data)}
        />
      )}
    </li>
  );
}

type TextsProps = {
  fields: readonly DataField[];
  values: Record<string, unknown>;
  problems: Record<string, string>;
  submit: string;
  isBusy?: boolean;
  /** Whether a write needs a reason; it stands among the texts as `reasonName`. */
  needsReason: boolean;
  onSubmit: (data: Record<string, string>) => void;
};

/** The texts beside a file. It is no form of its own, for it may stand inside of one. */
export function Texts({ fields, values, problems, submit, isBusy = false, needsReason, onSubmit }: TextsProps) {
  const { shared, media, form } = useWords();
  const id = useId();
  const [missing, setMissing] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState(() =>
    Object.fromEntries(
      [...fields.map(({ name }) => name), reasonName].map((name) => [name, String(values[name] ?? '')]),
    ),
  );
  const type = (name: string, text: string) => {
    setTyped((texts) => ({ ...texts, [name]: text }));
    setMissing((names) => names.filter((one) => one !== name));
  };
  const send = (event: FormEvent | { preventDefault: () => void }) => {
    event.preventDefault();
    const needed = [...fields.filter(isNeeded).map(({ name }) => name), ...(needsReason ? [reasonName] : [])];
    const empty = needed.filter((name) => typed[name]?.trim() === '');
    setMissing(empty);
    // A file is not sent in vain.
    if (empty[0] !== undefined) return document.getElementById(`${id}-${empty[0]}`)?.focus();
    onSubmit(Object.fromEntries(Object.entries(typed).filter(([name, text]) => text !== '' || values[name])));
  };
  return (
    <div className={styles.texts}>
      {fields.map((field) => (
        <TextInput
          key={field.name}
          id={`${id}-${field.name}`}
          label={labelOf(field)}
          description={field.admin?.description}
          required={field.required === true}
          maxLength={field.maxLength}
          value={typed[field.name] ?? ''}
          error={missing.includes(field.name) ? media.textNeeded(labelOf(field)) : problems[field.name]}
          onChange={({ currentTarget }) => type(field.name, currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && send(event)}
        />
      ))}
      {needsReason && (
        <TextInput
          id={`${id}-${reasonName}`}
          label={shared.reason}
          description={shared.reasonHint}
          required
          maxLength={500}
          value={typed[reasonName] ?? ''}
          error={missing.includes(reasonName) ? form.reasonNeeded : problems[reasonHeader]}
          onChange={({ currentTarget }) => type(reasonName, currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && send(event)}
        />
      )}
      <Button size="xs" variant="default" className={styles.submit} loading={isBusy} onClick={send}>
        {submit}
      </Button>
    </div>
  );
}
