import { type ReactNode, useState } from 'react';
import { Action } from '../../../../parts/action.tsx';
import { dataFields } from '../../../../schema/fields.ts';
import type { Collection } from '../../../../schema/model.ts';
import { titleField, titleOf } from '../../../../schema/titles.ts';
import { useCollection } from '../../../../service/model.tsx';
import { forget, messageOf } from '../../../../service/queries.ts';
import { addresses } from '../../../../shell/addresses.ts';
import { Link } from '../../../../shell/link.tsx';
import { Icon } from '../../../../theme/icons.tsx';
import { useWords } from '../../../../words/index.ts';
import { useFormPlace } from '../../form/context.ts';
import type { InputProps } from '../types.ts';
import styles from './input.module.css';
import { Awaited, OrderedList } from './list.tsx';
import { idsOf, withId, withoutId } from './order.ts';
import { TargetSearch } from './search.tsx';
import { type Target, useTargets } from './targets.ts';

/** The input of a relationship: documents of another collection are searched by their titles. */
export function RelationshipInput(props: InputProps) {
  const collection = useCollection(props.field.relationTo ?? '');
  // If the user may not see the collection, only ids can be shown.
  if (collection === undefined) return <p className={styles.ids}>{idsOf(props.defaultValue).join(', ')}</p>;
  return <Targets {...props} collection={collection} />;
}

function Targets(props: InputProps & { collection: Collection }) {
  const { field, collection, isDisabled, onChange } = props;
  const [ids, setIds] = useState(() => idsOf(props.defaultValue));
  const [picked, setPicked] = useState<readonly Target[]>([]);
  const [title, setTitle] = useState<string | null>(null);
  const read = useTargets(
    collection,
    ids.filter((id) => !picked.some((one) => one.id === id)),
  );
  const set = (next: string[]) => {
    setIds(next);
    onChange(field.hasMany ? next : (next[0] ?? null));
  };
  const add = (id: string) => set(field.hasMany ? withId(ids, id) : [id]);
  const choose = (target: Target) => {
    setPicked([...picked, target]);
    add(target.id);
  };
  const leave = () => {
    setTitle(null);
    focusOn(props.id);
  };
  const shownOf = (id: string): ShownDocument => {
    const target = [...picked, ...(read.data ?? [])].find((one) => one.id === id);
    if (target !== undefined) return { id, title: titleOf(collection, target), state: 'known' };
    if (read.error !== null) return { id, title: id, state: 'known' };
    const isRead = read.isSuccess && !read.isPlaceholderData;
    return isRead ? { id, title: id, state: 'gone' } : { id, title: '', state: 'awaited' };
  };
  const shown = ids.map(shownOf);
  const search = {
    collection,
    id: props.id,
    isDisabled,
    isInvalid: props.error !== undefined,
    describedBy: props.describedBy,
    onChoose: choose,
    onCreate: canCreate(collection) ? setTitle : undefined,
  };
  return (
    <div className={styles.input}>
      {field.hasMany ? (
        <>
          {shown.length > 0 && (
            <OrderedList
              path={props.path}
              items={shown.map((one) => ({ ...one, content: <Title collection={collection} {...one} /> }))}
              isDisabled={isDisabled}
              onOrder={set}
              onRemove={(id) => {
                set(withoutId(ids, id));
                focusOn(props.id);
              }}
            />
          )}
          {!(isDisabled && ids.length > 0) && <TargetSearch {...search} shown="" without={ids} />}
        </>
      ) : (
        <One {...search} shown={shown[0]} onClear={() => set([])} />
      )}
      {read.error !== null && <p className={styles.problem}>{messageOf(read.error)}</p>}
      {title !== null && (
        <Create
          collection={collection.slug}
          prefill={prefillOf(collection, title)}
          onClose={leave}
          onCreated={({ id }) => {
            add(id);
            leave();
          }}
        />
      )}
    </div>
  );
}

/** Gives the focus to a control after the element with the focus is gone. */
function focusOn(id: string): void {
  setTimeout(() => document.getElementById(id)?.focus());
}

/** A document of the field. While it is read, its title is empty; if there is no such document, the title is its id. */
type ShownDocument = { id: string; title: string; state: 'known' | 'awaited' | 'gone' };

/** The words of a search as the title of a new document, if the title field can take them. */
function prefillOf(collection: Collection, title: string): Record<string, unknown> {
  const name = titleField(collection);
  const field = dataFields(collection.fields).find((one) => one.name === name);
  return field?.type === 'text' && title !== '' ? { [name]: title } : {};
}

/** Whether a form can create a document: accounts are invited instead, and files uploaded. */
function canCreate({ access, upload, isAuth }: Collection): boolean {
  return access.create && !upload && !isAuth;
}

type OneProps = Omit<Parameters<typeof TargetSearch>[0], 'shown' | 'isAwaited' | 'without' | 'actions'> & {
  shown: ShownDocument | undefined;
  onClear: () => void;
};

/** The one document of a field: its title is in the box in which another document is searched. */
function One({ shown, onClear, ...search }: OneProps) {
  const { inputs } = useWords();
  const { collection, isDisabled } = search;
  const clear = () => {
    onClear();
    focusOn(search.id);
  };
  const actions: ReactNode = shown !== undefined && (
    <span className={styles.boxActions}>
      {shown.state === 'known' && <OpenLink collection={collection} {...shown} />}
      {!isDisabled && <Action icon="close" label={inputs.removeNamed(shown.title)} act={clear} />}
    </span>
  );
  return (
    <>
      <TargetSearch
        {...search}
        shown={shown?.title ?? ''}
        isAwaited={shown?.state === 'awaited'}
        without={[]}
        actions={actions}
        onClear={shown === undefined ? undefined : onClear}
      />
      {shown?.state === 'gone' && <p className={styles.gone}>{inputs.gone}</p>}
    </>
  );
}

/** The title of a document in a list. */
function Title({ collection, id, title, state }: ShownDocument & { collection: Collection }) {
  const { inputs } = useWords();
  return (
    <span className={state === 'gone' ? `${styles.title} ${styles.below}` : styles.title}>
      {state === 'awaited' ? <Awaited /> : <span>{title}</span>}
      {state === 'gone' && <small className={styles.gone}>{inputs.gone}</small>}
      {state === 'known' && <OpenLink {...{ collection, id, title }} />}
    </span>
  );
}

function OpenLink({ collection, id, title }: { collection: Collection; id: string; title: string }) {
  const { inputs } = useWords();
  const label = inputs.openInTab(title);
  return (
    <Link
      to={addresses.document(collection.slug, id)}
      target="_blank"
      className={styles.open}
      aria-label={label}
      title={label}
    >
      <Icon name="open" size={15} />
    </Link>
  );
}

type CreateProps = {
  collection: string;
  prefill: Record<string, unknown>;
  onClose: () => void;
  onCreated: (document: { id: string }) => void;
};

/** A new document in a drawer over the form. Submitting its form does not submit the form below. */
function Create({ onCreated, ...rest }: CreateProps) {
  const { CreateDrawer } = useFormPlace();
  const created = (document: { id: string }) => {
    void forget(rest.collection);
    onCreated(document);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: events bubble along the tree of React, out of the drawer
    <div onSubmit={(event) => event.stopPropagation()} onKeyDown={(event) => event.stopPropagation()}>
      <CreateDrawer {...rest} onCreated={created} />
    </div>
  );
}
