import { dataFields, type Field } from '../../../schema/fields.ts';

/** A tab: its fields, and the names of all that hold data. */
export type Tab = { name: string; fields: Field[]; names: string[] };

/** The places of the top-level fields. */
type Layout = { main: Field[]; side: Field[]; tabs: Tab[] };

/**
 * Lays out fields: those of the side, those of each tab in the order of the tabs, and above the tabs the others.
 */
export function layoutOf(fields: readonly Field[]): Layout {
  const layout: Layout = { main: [], side: [], tabs: [] };
  for (const field of fields) {
    const { position, tab } = field.admin ?? {};
    if (position === 'side') layout.side.push(field);
    else if (tab === undefined) layout.main.push(field);
    else tabOf(layout.tabs, tab).fields.push(field);
  }
  for (const tab of layout.tabs) tab.names = dataFields(tab.fields).map(({ name }) => name);
  return layout;
}

function tabOf(tabs: Tab[], name: string): Tab {
  const found = tabs.find((tab) => tab.name === name);
  if (found !== undefined) return found;
  const tab = { name, fields: [], names: [] };
  tabs.push(tab);
  return tab;
}
