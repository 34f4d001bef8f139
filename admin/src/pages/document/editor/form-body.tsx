import { Tabs } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { FormContext, useFormPlace, useFormState } from '../form/context.ts';
import { layoutOf, type Tab } from '../form/layout.ts';
import styles from './editor.module.css';
import type { EditorView } from './use-editor.ts';

/** The fields: those of the main column, in tabs if there are any, and those of the side. */
export function FormBody({ editor, facts }: { editor: EditorView; facts: ReactNode }) {
  const { form, place, root } = editor;
  const { Level } = place;
  const layout = useMemo(() => layoutOf(form.fields), [form.fields]);
  const hasSide = layout.side.length > 0 || facts !== null;
  return (
    <FormContext value={place}>
      <div
        className={hasSide ? styles.columns : undefined}
        ref={(element) => {
          root.current = element;
        }}
        data-form={place.slug}
      >
        <div className={styles.main}>
          {layout.main.length > 0 && <Level fields={layout.main} />}
          {layout.tabs.length > 0 && <TabbedFields tabs={layout.tabs} />}
        </div>
        {hasSide && (
          <div className={styles.side}>
            {layout.side.length > 0 && (
              <div className={styles.sideFields}>
                <Level fields={layout.side} />
              </div>
            )}
            {facts}
          </div>
        )}
      </div>
    </FormContext>
  );
}

/**
 * A tab stays mounted when another is chosen, so its text stays too. A tab with a problem is marked. Hidden tabs keep
 * working (in an `Activity` they would not): problems are shown there, and slugs follow their titles.
 */
function TabbedFields({ tabs }: { tabs: readonly Tab[] }) {
  const { Level } = useFormPlace();
  // The number of a tab, not its name: ids are made of it, and an id has no spaces.
  const [chosen, choose] = useState<string | null>('0');
  const wrong = useFormState((form) => {
    return tabs
      .filter(({ names }) => names.some((name) => form.hasProblemIn(name)))
      .map(({ name }) => name)
      .join('\n');
  });
  return (
    <Tabs value={chosen} onChange={choose} keepMountedMode="display-none">
      <Tabs.List className={styles.tabs}>
        {tabs.map(({ name }, index) => (
          <Tabs.Tab key={name} value={String(index)} data-wrong={wrong.split('\n').includes(name) || undefined}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, fields }, index) => (
        <Tabs.Panel key={name} value={String(index)} className={styles.panel}>
          <Level fields={fields} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
