import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useId, useState } from 'react';
import { type DataField, labelOf } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { type FileDocument, reasonName, withoutReason } from '../files.ts';
import { useSaving } from '../sending/saving.ts';
import styles from './texts.module.css';

type Props = {
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
export function Texts({ fields, values, problems, submit, isBusy = false, needsReason, onSubmit }: Props) {
  const { shared } = useWords();
  const id = useId();
  const [typed, setTyped] = useState(() =>
    Object.fromEntries(fields.map(({ name }) => [name, String(values[name] ?? '')])),
  );
  const send = (event: FormEvent | { preventDefault: () => void }) => {
    event.preventDefault();
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
          error={problems[field.name]}
          onChange={({ currentTarget: { value } }) => setTyped((texts) => ({ ...texts, [field.name]: value }))}
          onKeyDown={(event) => event.key === 'Enter' && send(event)}
        />
      ))}
      {needsReason && (
        <TextInput
          label={shared.reason}
          description={shared.reasonHint}
          required
          maxLength={500}
          value={typed[reasonName] ?? ''}
          onChange={({ currentTarget: { value } }) => setTyped((texts) => ({ ...texts, [reasonName]: value }))}
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

/** The texts of a file that is there, saved by themselves. */
export function SavedTexts({ collection, file, fields, onSaved }: SavedProps) {
  const { inputs } = useWords();
  const { isBusy, problem, problems, save } = useSaving();
  const submit = (texts: Record<string, string>) =>
    save(async () => {
      const { data, reason } = withoutReason(texts);
      const values = Object.entries(data).map(([name, text]) => [name, text === '' ? null : text]);
      const saved = await client.collection(collection.slug).update(file.id, Object.fromEntries(values), reason);
      onSaved(saved as unknown as FileDocument);
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
