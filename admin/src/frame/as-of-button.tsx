import { Button, Popover, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useAsOf, useSetAsOf } from '../service/as-of.ts';
import { useModel } from '../service/model.tsx';
import { Icon } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import styles from './as-of.module.css';
import { useLogFacts } from './as-of-log.ts';
import { asOfText, localText, momentsOf, suggestedMoment } from './as-of-moments.ts';

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
  const log = useLogFacts();
  const first = log?.first ?? null;
  const [now] = useState(() => new Date());
  const [typed, setTyped] = useState<string | null>(null);
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
  const shown = asOf !== null && !/^\d+$/.test(asOf) ? new Date(asOf) : null;
  return (
    <form className={styles.form} onSubmit={submit}>
      <div className={styles.quick}>
        {log &&
          momentsOf(log, now).map(([name, moment]) => (
            <Button key={name} variant="default" size="compact-sm" onClick={() => show(moment)}>
              {shell[name]}
            </Button>
          ))}
      </div>
      <TextInput
        type="datetime-local"
        name="moment"
        label={shell.asOfMoment}
        min={first === null ? undefined : localText(first)}
        max={localText(now)}
        value={typed ?? localText(shown ?? suggestedMoment(first, now))}
        onChange={(event) => setTyped(event.currentTarget.value)}
        step={1}
      />
      <TextInput
        name="position"
        label={shell.asOfOtherPosition}
        placeholder={log && shell.asOfPositions(log.size)}
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
