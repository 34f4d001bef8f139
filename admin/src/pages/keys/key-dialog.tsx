import { Checkbox, MultiSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ApiKeyWithSecret, KeyAudit, KeyOperation } from '../../../../client/index.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { useWords } from '../../words/index.ts';
import styles from './keys.module.css';
import { audits, operations } from './scopes.ts';

const all = '*';

/** Creates a key: its name, one scope, its rights on the history, and its expiry. */
export function KeyDialog({ onClose, onMade }: { onClose: () => void; onMade: (key: ApiKeyWithSecret) => void }) {
  const { people } = useWords();
  const model = useModel();
  const [name, setName] = useState('');
  const [collections, setCollections] = useState<string[]>([all]);
  const [globals, setGlobals] = useState<string[]>([]);
  const [allowed, setAllowed] = useState<string[]>(['read']);
  const [audit, setAudit] = useState<string[]>([]);
  const [day, setDay] = useState('');
  const hasScope = allowed.length > 0 && collections.length + globals.length > 0;
  const make = async (options: { reason?: string }) => {
    const scope = {
      ...(collections.length > 0 ? { collections: listOf(collections, model.collections) } : {}),
      ...(globals.length > 0 ? { globals: listOf(globals, model.globals) } : {}),
      operations: allowed as KeyOperation[],
    };
    const expiresAt = day === '' ? null : new Date(`${day}T23:59:59`).toISOString();
    onMade(
      await client.keys.create(
        { name, scopes: hasScope ? [scope] : [], audit: audit as KeyAudit[], expiresAt },
        options,
      ),
    );
  };
  const slugs = (of: Map<string, unknown>) => [{ value: all, label: people.all }, ...of.keys()];
  return (
    <Confirm title={people.newKey} button={people.newKey} reason="optional" onClose={onClose} confirm={make}>
      <TextInput
        label={people.keyName}
        description={people.keyNameHint}
        required
        withAsterisk={false}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <MultiSelect
        label={people.collections}
        data={slugs(model.collections)}
        value={collections}
        onChange={(next) => setCollections(oneOrAll(next))}
      />
      <MultiSelect
        label={people.globals}
        data={slugs(model.globals)}
        value={globals}
        onChange={(next) => setGlobals(oneOrAll(next))}
      />
      <Checkbox.Group label={people.operations} value={allowed} onChange={setAllowed}>
        <div className={styles.boxes}>
          {operations.map((one) => (
            <Checkbox key={one} value={one} label={people.operation[one]} />
          ))}
        </div>
      </Checkbox.Group>
      <Checkbox.Group label={people.auditScopes} value={audit} onChange={setAudit}>
        <div className={styles.boxes}>
          {audits.map((one) => (
            <Checkbox key={one} value={one} label={people.auditScope[one]} />
          ))}
        </div>
      </Checkbox.Group>
      <TextInput
        type="date"
        label={people.expiresOn}
        description={people.neverExpires}
        value={day}
        onChange={(event) => setDay(event.currentTarget.value)}
      />
    </Confirm>
  );
}

/** "All" as the list of the slugs of now: `*` would include later collections, which no user may grant to a key. */
function listOf(slugs: string[], of: Map<string, unknown>): string[] {
  return slugs.includes(all) ? [...of.keys()] : slugs;
}

/** Of "all" and single slugs, the latest choice wins. */
function oneOrAll(slugs: string[]): string[] {
  return slugs.at(-1) === all ? [all] : slugs.filter((slug) => slug !== all);
}
