import { Button, NativeSelect, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { useWords } from '../../../words/index.ts';
import { ValueInput } from '../value/value-input.tsx';
import { type ReadableField, readableFields } from '../view/columns.ts';
import type { ListState } from '../view/use-list.ts';
import { textOf } from '../view/view.ts';
import { type Condition, type Filter, filterOf, isKept, readWhere, whereOf } from './filter.ts';
import styles from './filter-bar.module.css';
import { operatorsOf, takesMany } from './operators.ts';
import { useOperatorText } from './use-chip-text.ts';

type Props = { state: ListState; index: number | null; set: (filter: Filter) => void; close: () => void };

/** The panel that adds or changes a condition; at its end, the whole filter as text. */
export function FilterPanel({ state, index, set, close }: Props) {
  const words = useWords();
  const { list } = words;
  const { filter } = state;
  const item = index === null ? undefined : filter.items[index];
  const condition = item !== undefined && !isKept(item) ? item : undefined;
  const readable = readableFields(state.collection, words).filter(({ field }) => operatorsOf(field).length > 0);
  const entry = readable.find(({ path }) => path === condition?.path);
  const isFit =
    condition === undefined || (entry && operatorsOf(entry.field).some((operator) => operator === condition.operator));
  const put = (next: Condition) => {
    const items = index === null ? [...filter.items, next] : filter.items.with(index, next);
    set({ ...filter, items });
  };
  const isForm = isFit && !(item !== undefined && isKept(item));
  return (
    <div className={styles.panel}>
      {filter.items.length > 1 && (
        <NativeSelect
          label={list.joint}
          value={filter.joint}
          onChange={({ currentTarget: { value } }) =>
            state.change({ where: whereOf({ ...filter, joint: value as Filter['joint'] }) })
          }
          data={[
            { value: 'all', label: list.all },
            { value: 'any', label: list.any },
          ]}
        />
      )}
      {isForm && <ConditionForm readable={readable} condition={condition} put={put} />}
      <details open={!isForm}>
        <summary>{list.asText}</summary>
        <TextForm filter={filter} set={set} close={close} broken={state.view.broken} />
      </details>
    </div>
  );
}

type FormProps = {
  readable: readonly ReadableField[];
  condition: Condition | undefined;
  put: (condition: Condition) => void;
};

function ConditionForm({ readable, condition, put }: FormProps) {
  const { list } = useWords();
  const operatorText = useOperatorText();
  const [draft, setDraft] = useState<Partial<Condition>>(condition ?? { value: null });
  const field = readable.find(({ path }) => path === draft.path)?.field;
  const fit = field === undefined ? [] : operatorsOf(field);
  const choose = (path: string | null) => {
    const chosen = readable.find((entry) => entry.path === path)?.field;
    const operator = chosen && operatorsOf(chosen)[0];
    setDraft(
      path === null || operator === undefined
        ? { value: null }
        : { path, operator, value: operator === 'exists' ? true : null },
    );
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { path, operator, value } = draft;
    if (path !== undefined && operator !== undefined)
      put({ path, operator, value: takesMany(operator) ? (value ?? []) : value });
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <NativeSelect
        label={list.field}
        data-autofocus
        data={[{ value: '', label: '' }, ...readable.map(({ path, label }) => ({ value: path, label }))]}
        value={draft.path ?? ''}
        onChange={(event) => choose(event.currentTarget.value || null)}
      />
      {field !== undefined && draft.operator !== undefined && (
        <>
          <NativeSelect
            label={list.operator}
            data={fit.map((operator) => ({ value: operator, label: operatorText(operator, field.type) }))}
            value={draft.operator}
            onChange={({ currentTarget: { value } }) =>
              setDraft({ ...draft, operator: value, value: value === 'exists' ? true : keptValue(draft, value) })
            }
          />
          <ValueInput
            key={`${draft.path} ${takesMany(draft.operator)}`}
            field={field}
            operator={draft.operator}
            label={list.value}
            value={draft.value}
            onChange={(value) => setDraft({ ...draft, value })}
          />
        </>
      )}
      <Button type="submit" size="xs" disabled={!isWhole(draft)}>
        {list.apply}
      </Button>
    </form>
  );
}

/** The value after a change of the operator: a list if the new operator takes several values; null after `exists`. */
function keptValue({ value, operator }: Partial<Condition>, next: string): unknown {
  if (operator === 'exists') return null;
  if (takesMany(next)) return Array.isArray(value) ? value : value === null ? [] : [value];
  return Array.isArray(value) ? (value[0] ?? null) : value;
}

/** Whether a condition is complete. Null is a value only for "is" and "is not". */
function isWhole({ path, operator, value }: Partial<Condition>): boolean {
  if (path === undefined || operator === undefined) return false;
  if (Array.isArray(value)) return value.length > 0;
  return (value !== null && value !== undefined) || operator === 'equals' || operator === 'not_equals';
}

type TextProps = { filter: Filter; broken: string | null; set: (filter: Filter) => void; close: () => void };

function TextForm({ filter, broken, set }: TextProps) {
  const { list } = useWords();
  const [text, setText] = useState(broken ?? textOf(whereOf(filter)));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readWhere(text);
    if (read.broken !== null) setProblem(list.notJson);
    else set(filterOf(read.where));
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <Textarea
        aria-label={list.asText}
        description={list.asTextHint}
        classNames={{ input: styles.code ?? '' }}
        rows={4}
        spellCheck={false}
        value={text}
        error={problem}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={styles.buttons}>
        <CopyButton text={text} variant="subtle" />
        <Button type="submit" size="xs" variant="default">
          {list.apply}
        </Button>
      </div>
    </form>
  );
}
