import { Button, Popover, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useAsOf, useSetAsOf } from '../service/as-of.ts';
import { useModel } from '../service/model.tsx';
import { Icon } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import styles from './as-of.module.css';
import { asOfText, localText, startOfYear, withDaysAgo } from './as-of-moments.ts';

/** Chooses the moment that the whole application shows, for users who may see what changed. */
export function AsOfButton() {
  const { shell } = useWords();
  const { audit } = useModel();
  const asOf = useAsOf();
  const [isOpen, setOpen] = useState(false);
  if (!audit.has('payloads')) return null;
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" trapFocus withRoles width={300}>
      <Popover.Target>
        <Button
          variant={asOf === null ? 'subtle' : 'light'}
          color="gray"
          size="compact-sm"
          leftSection={<Icon name="clock" size={16} />}
          title={shell.asOfTitle}
          onClick={() => setOpen(!isOpen)}
          className={styles.button}
        >
          <span className={styles.text}>{shell.asOf}</span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={shell.asOfTitle}>
        <AsOfForm asOf={asOf} close={() => setOpen(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}

function AsOfForm({ asOf, close }: { asOf: string | null; close: () => void }) {
  const { shell } = useWords();
  const setAsOf = useSetAsOf();
  const show = (moment: string | null) => {
    setAsOf(moment);
    close();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const position = String(data.get('position') ?? '').trim();
    const moment = String(data.get('moment') ?? '');
    show(position === '' ? asOfText(moment) : position);
  };
  const now = new Date();
  const quick: [string, Date][] = [
    [shell.asOfDayAgo, withDaysAgo(now, 1)],
    [shell.asOfWeekAgo, withDaysAgo(now, 7)],
    [shell.asOfMonthAgo, withDaysAgo(now, 30)],
    [shell.asOfYearStart, startOfYear(now)],
  ];
  return (
    <form className={styles.form} onSubmit={submit}>
      <div className={styles.quick}>
        {quick.map(([name, moment]) => (
          <Button key={name} variant="default" size="compact-sm" onClick={() => show(moment.toISOString())}>
            {name}
          </Button>
        ))}
      </div>
      <TextInput
        type="datetime-local"
        name="moment"
        label={shell.asOfMoment}
        max={localText(now)}
        defaultValue={localText(asOf !== null && !/^\d+$/.test(asOf) ? new Date(asOf) : withDaysAgo(now, 1))}
        step={1}
      />
      <TextInput
        name="position"
        label={shell.asOfOtherPosition}
        inputMode="numeric"
        pattern="[1-9][0-9]*"
        defaultValue={asOf !== null && /^\d+$/.test(asOf) ? asOf : ''}
      />
      <Button type="submit">{shell.asOfShow}</Button>
      {asOf !== null && (
        <Button variant="subtle" onClick={() => show(null)}>
          {shell.backToNow}
        </Button>
      )}
    </form>
  );
}
