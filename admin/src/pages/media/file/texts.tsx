import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useId, useState } from 'react';
import { type DataField, labelOf } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { type FileDocument, isNeeded, reasonHeader, reasonName, withoutReason } from '../files.ts';
import { useSaving } from '../sending/saving.ts';
import styles from './texts.module.css';

type Props = {
  fields: readonly DataField[];
  values: Record<string, unknown>;
  problems: Record<string, string>;
  submit: string;
  isBusy?: boolean;
  /** Whether a write needs a reason; the reason is among the texts as `reasonName`. */
  needsReason: boolean;
  onSubmit: (data: Record<string, string>) => void;
};

/** The texts beside a file. They are not in a form element, because they may be inside another form. */
export function Texts({ fields, values, problems, submit, isBusy = false, needsReason, onSubmit }: Props) {
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
    // Without a required text the service would refuse the file.
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

type SavedProps = {
  collection: Collection;
  file: FileDocument;
  fields: readonly DataField[];
  onSaved: (file: FileDocument) => void;
};

/** The texts of an existing file, with a Save button of their own. */
export function SavedTexts({ collection, file, fields, onSaved }: SavedProps) {
  const { inputs } = useWords();
  const { isBusy, problem, problems, save } = useSaving();
  const submit = (texts: Record<string, string>) =>
    save(async () => {
      const { data, reason } = withoutReason(texts);
      const values = Object.entries(data).map(([name, text]) => [name, text === '' ? null : text]);
      const saved: Record<string, unknown> = await client
        .collection(collection.slug)
        .update(file.id, Object.fromEntries(values), reason);
      onSaved(saved as FileDocument);
      await forget(collection.slug);
    });
  return (
    <>
      <Texts
        fields={fields}
        values={file}
        {...{ problems, isBusy }}
        submit={inputs.saveTexts}
        needsReason={collection.requireReason}
        onSubmit={submit}
      />
      {problem !== null && (
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
      )}
    </>
  );
}
