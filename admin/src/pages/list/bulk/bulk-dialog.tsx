import { Button, Checkbox, Modal, NativeSelect, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import dialogStyles from '../../../parts/dialog.module.css';
import { tell } from '../../../parts/toast.ts';
import { client, reasonOfTrial } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { forget, messageOf, useRead } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { ValueInput } from '../value/value-input.tsx';
import { readableFields } from '../view/columns.ts';
import type { ListState } from '../view/use-list.ts';
import styles from './bulk.module.css';
import { changeable, problemsOf } from './bulk.ts';
import { UndoButton } from './undo-button.tsx';
import type { SelectedTitles, Selection } from './use-selection.ts';

type Props = {
  doing: 'change' | 'delete' | null;
  state: ListState;
  selection: Selection;
  close: () => void;
};

/** Changes or deletes the selected documents, with one reason. A dry run comes first. */
export function BulkDialog({ doing, state, selection, close }: Props) {
  const { list, shared } = useWords();
  return (
    <Modal
      opened={doing !== null}
      onClose={close}
      title={doing === 'delete' ? list.deleteMany(selection.chosen.size) : list.changeMany(selection.chosen.size)}
      closeButtonProps={{ 'aria-label': shared.close }}
    >
      {doing !== null && <BulkForm {...{ doing, state, selection, close }} />}
    </Modal>
  );
}

/** The values that a bulk call sets; null deletes. */
type Data = Record<string, unknown> | null;

type Outcome = { matched: number; changed: number; batch: string | null };

function callOf(slug: string, ids: string[], data: Data) {
  const { updateMany, deleteMany } = client.collection(slug);
  return (options: {
    dryRun?: boolean;
    reason?: string;
    signal?: AbortSignal;
    headers?: Record<string, string>;
  }): Promise<Outcome> => (data === null ? deleteMany({ ids }, options) : updateMany({ ids }, data, options));
}

function BulkForm({ doing, state, selection, close }: Props) {
  const { list, shared } = useWords();
  const { slug, requireReason } = state.collection;
  const chosen = selection.chosen;
  const [path, setPath] = useState('');
  const [value, setValue] = useState<unknown>(null);
  const [reason, setReason] = useState('');
  const data: Data = doing === 'delete' ? null : { [path]: value };
  const isReady = doing === 'delete' || path !== '';
  const trial = useTrial(slug, chosen, { data, isEnabled: isReady });
  const { problems, isBusy, run } = useRun({ state, selection, close });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(data, reason.trim());
  };
  const said = problems.length > 0 ? problems : trial.problems;
  return (
    <form className={dialogStyles.body} onSubmit={submit}>
      {doing === 'change' && <FieldInputs {...{ state, path, setPath, value, setValue }} />}
      {isReady && (
        <p role="status" className={styles.soft}>
          {trial.text}
        </p>
      )}
      <TextInput
        label={requireReason ? shared.reason : shared.optionalReason}
        description={shared.reasonHint}
        maxLength={500}
        required={requireReason}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <Problems said={said} />
      <div className={dialogStyles.buttons}>
        <Button variant="default" onClick={close}>
          {shared.cancel}
        </Button>
        <Button
          type="submit"
          color={doing === 'delete' ? 'red' : undefined}
          loading={isBusy}
          disabled={!isReady || trial.changed === 0 || trial.problems.length > 0}
        >
          {doing === 'delete' ? list.deleteMany(chosen.size) : list.changeMany(trial.changed ?? chosen.size)}
        </Button>
      </div>
    </form>
  );
}

function Problems({ said }: { said: readonly string[] }) {
  return (
    <ul role="alert" className={styles.problems}>
      {said.slice(0, 20).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

type InputsProps = {
  state: ListState;
  path: string;
  setPath: (path: string) => void;
  value: unknown;
  setValue: (value: unknown) => void;
};

function FieldInputs({ state, path, setPath, value, setValue }: InputsProps) {
  const words = useWords();
  const { list } = words;
  const readable = changeable(readableFields(state.collection, words));
  const field = readable.find((entry) => entry.path === path)?.field;
  const choose = (next: string) => {
    setPath(next);
    setValue(null);
  };
  const empty = field?.type === 'multiSelect' ? [] : null;
  const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
  return (
    <>
      <NativeSelect
        label={list.chooseField}
        data={[{ value: '', label: '' }, ...readable.map((entry) => ({ value: entry.path, label: entry.label }))]}
        value={path}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      {field !== undefined && (
        <>
          <ValueInput key={path} field={field} label={list.newValue} value={value} onChange={setValue} />
          {!field.required && (
            <Checkbox size="xs" label={list.emptyValue} checked={isEmpty} onChange={() => setValue(empty)} />
          )}
        </>
      )}
    </>
  );
}

type Trial = { text: string; changed: number | null; problems: readonly string[] };

/** Asks the service what a call would do, without doing it. */
function useTrial(
  slug: string,
  chosen: SelectedTitles,
  { data, isEnabled }: { data: Data; isEnabled: boolean },
): Trial {
  const { list } = useWords();
  const ids = [...chosen.keys()];
  const read = useRead(
    ['trial', { slug, ids, data }],
    ({ signal }) => callOf(slug, ids, data)({ dryRun: true, signal, ...reasonOfTrial }),
    { enabled: isEnabled, staleTime: 0 },
  );
  if (read.error !== null) return { text: '', changed: null, problems: problemsOf(read.error, chosen) };
  if (read.data === undefined) return { text: list.counting, changed: null, problems: [] };
  const { changed, matched } = read.data;
  const text = data === null ? list.wouldDelete(changed) : list.wouldChange(changed, matched);
  return { text, changed, problems: [] };
}

/** Makes the call, and offers to undo it. */
function useRun({ state, selection, close }: Omit<Props, 'doing'>) {
  const { list } = useWords();
  const canUndo = useModel().audit.has('payloads');
  const [problems, setProblems] = useState<string[]>([]);
  const [isBusy, setBusy] = useState(false);
  const { slug } = state.collection;
  const run = async (data: Data, reason: string) => {
    setBusy(true);
    setProblems([]);
    try {
      const { changed, batch } = await callOf(
        slug,
        [...selection.chosen.keys()],
        data,
      )(reason === '' ? {} : { reason });
      await forget(slug);
      const text = data === null ? list.deleted(changed) : list.changed(changed);
      if (batch === null || !canUndo) tell(text);
      else tellWithUndo(text, { batch, slug });
      if (data === null) selection.clear();
      close();
    } catch (error) {
      setProblems(error instanceof ApiError ? problemsOf(error, selection.chosen) : [messageOf(error)]);
    } finally {
      setBusy(false);
    }
  };
  return { problems, isBusy, run };
}

const readable = 20_000;

function tellWithUndo(text: string, { batch, slug }: { batch: string; slug: string }): void {
  const id = `batch ${batch}`;
  const close = () => notifications.hide(id);
  notifications.show({
    id,
    message: (
      <span className={styles.toast}>
        {text} <UndoButton batch={batch} slug={slug} close={close} />
      </span>
    ),
    autoClose: readable,
  });
}
