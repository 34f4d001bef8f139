import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { useAsOf } from '../../../service/as-of.ts';
import { client } from '../../../service/client.ts';
import { messageOf } from '../../../service/queries.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { useFormStateOf } from '../form/context.ts';
import type { Form } from '../form/store.ts';
import type { Subject } from '../save/subject.ts';
import styles from './preview.module.css';
import { previewOf, previewParameter } from './preview-button.tsx';

/** The preview reloads after a pause of this many milliseconds in typing. */
const pause = 800;

type Props = { subject: Subject; form: Form; children: ReactNode };

/** The form, and beside it a preview of the site with the values of the form. */
export function PreviewFrame({ subject, form, children }: Props) {
  const [search] = useSearchParams();
  const isNow = useAsOf() === null;
  const page = previewOf(subject);
  const isOpen = isNow && page !== null && search.has(previewParameter);
  // The form keeps its place in the tree, so that tabs and folded items stay as they are.
  return (
    <div className={isOpen ? styles.columns : undefined}>
      <div className={isOpen ? styles.form : undefined}>{children}</div>
      {isOpen && <Site subject={subject} form={form} page={page} />}
    </div>
  );
}

function Site({ subject, form, page }: Omit<Props, 'children'> & { page: string }) {
  const { form: words } = useWords();
  const values = useFormStateOf(form, (one) => one.values());
  const [address, setAddress] = useState<string | null>(null);
  const [problem, setProblem] = useState('');
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round asks for a new token
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(
      async () => {
        try {
          const { token } = await client.previewToken(draftOf(subject, values), { signal: abort.signal });
          setAddress(page.replaceAll('{token}', encodeURIComponent(token)));
          setProblem('');
        } catch (error) {
          if (!abort.signal.aborted) setProblem(messageOf(error));
        }
      },
      address === null ? 0 : pause,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [values, page, subject, round]);
  return (
    <section className={styles.site} aria-label={words.preview}>
      <header className={styles.head}>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          leftSection={<Icon name="refresh" size={16} />}
          onClick={() => setRound(round + 1)}
        >
          {words.previewAgain}
        </Button>
        {address !== null && (
          <a href={address} target="_blank" rel="noreferrer">
            {words.previewTab}
          </a>
        )}
      </header>
      {problem !== '' && (
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
      )}
      {address !== null && (
        <iframe
          title={words.preview}
          src={address}
          className={styles.frame}
          sandbox="allow-scripts allow-same-origin allow-forms allow-popups"
          referrerPolicy="no-referrer"
        />
      )}
    </section>
  );
}

function draftOf(subject: Subject, data: Record<string, unknown>) {
  if (subject.kind === 'global' || subject.id === null) throw new Error('a preview is of a document that is there');
  return { collection: subject.collection.slug, id: subject.id, data };
}
