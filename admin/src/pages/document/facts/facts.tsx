import { ActionIcon, Tooltip } from '@mantine/core';
import { Ago, momentOf } from '../../../parts/times.tsx';
import { useCopy } from '../../../parts/use-copy.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { client, versionOf } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { useRead } from '../../../service/queries.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import styles from '../editor/editor.module.css';
import type { Values } from '../form/values.ts';
import { type Subject, slugOf, versionIn } from '../save/subject.ts';
import { sinceOf } from './since.ts';

/** The time at which a document was last changed, and the actor if the user may know. */
export function Changed({ subject, document, etag }: { subject: Subject; document: Values; etag: string | undefined }) {
  const { form: words } = useWords();
  const language = useLanguage();
  const { audit } = useModel();
  const asOf = useAsOf();
  const version = versionOf(etag);
  const id = subject.kind === 'document' ? subject.id : null;
  const mayLook = audit.has('headers') && asOf === null && version !== null;
  const { data } = useRead(
    ['version', slugOf(subject), id, version],
    async ({ signal }) => (version === null ? null : versionIn(subject, version, signal).catch(() => null)),
    { enabled: mayLook, staleTime: Number.POSITIVE_INFINITY, keep: true },
  );
  const { updatedAt } = document;
  if (typeof updatedAt !== 'string') return null;
  const name = mayLook ? data?.actor.label : null;
  const ago = sinceOf(updatedAt, language, words);
  return (
    <span title={momentOf(updatedAt, language)} data-version={version ?? undefined}>
      {name ? words.changedBy(ago, name) : words.changed(ago)}
      {version !== null && ` · ${words.version(version)}`}
    </span>
  );
}

/** The facts about a document beside its fields. */
export function Facts({ subject, document }: { subject: Subject; document: Values }) {
  const { form: words } = useWords();
  const { id, createdAt, updatedAt, url, mimeType } = document;
  if (typeof createdAt !== 'string' && typeof id !== 'string') return null;
  const isPicture = typeof url === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/');
  return (
    <dl className={styles.facts}>
      {isPicture && subject.kind === 'document' && (
        <a href={client.mediaUrl(url)} target="_blank" rel="noreferrer" className={styles.picture}>
          <img src={client.mediaUrl(url)} alt={String(document.filename ?? '')} />
        </a>
      )}
      {typeof createdAt === 'string' && (
        <div>
          <dt>{words.createdAt}</dt>
          <dd>
            <Ago moment={createdAt} />
          </dd>
        </div>
      )}
      {typeof updatedAt === 'string' && (
        <div>
          <dt>{words.updatedAt}</dt>
          <dd>
            <Ago moment={updatedAt} />
          </dd>
        </div>
      )}
      {typeof id === 'string' && (
        <div>
          <dt>{words.id}</dt>
          <dd className={styles.id}>
            <code title={id}>{id}</code>
            <CopyId id={id} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function CopyId({ id }: { id: string }) {
  const { form: words, shared } = useWords();
  const { isCopied, copy } = useCopy(id);
  if (copy === undefined) return null;
  return (
    <Tooltip label={isCopied ? shared.copied : words.copyId}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={words.copyId} onClick={() => void copy()}>
        <Icon name={isCopied ? 'check' : 'copy'} size={15} />
      </ActionIcon>
    </Tooltip>
  );
}
