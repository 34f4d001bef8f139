import { Button } from '@mantine/core';
import { useLocation } from 'wouter';
import type { Absence } from '../../../client/index.ts';
import { momentOf } from '../parts/times.tsx';
import { useAsOf, useSetAsOf } from '../service/as-of.ts';
import { client } from '../service/client.ts';
import { keys, useRead } from '../service/queries.ts';
import { useLanguage, useWords } from '../words/index.ts';
import { Link } from './link.tsx';
import { Loading } from './loading.tsx';
import { Failure, Notice, Page } from './page.tsx';

type Document = { slug: string; id: string };

/** Why a document is not there at the moment that the application shows; null if the user may not know of it. */
export function useAbsence({ slug, id }: Document, isWanted: boolean) {
  const isPast = useAsOf() !== null;
  return useRead(
    [...keys.document(slug, id), 'absence'],
    ({ signal, asOf = '' }) => client.collection(slug).absence(id, { signal, asOf }),
    { enabled: isWanted && isPast },
  );
}

/** The page of a document at a moment at which it was not there. */
export function AbsentPage({ crumbs, ...document }: Document & { crumbs: { title: string; to: string }[] }) {
  const { shell } = useWords();
  const { data, error, refetch } = useAbsence(document, true);
  if (error === null && data === undefined) return <Loading />;
  return (
    <Page title={titleOf(data ?? null, shell)} crumbs={crumbs}>
      {error === null ? <AbsenceText absence={data ?? null} /> : <Failure error={error} again={() => void refetch()} />}
    </Page>
  );
}

/** The absence of a document, in place of the content of a page. */
export function AbsenceNotice({ absence }: { absence: Absence | null }) {
  const { shell } = useWords();
  return <AbsenceText absence={absence} title={titleOf(absence, shell)} />;
}

function titleOf(absence: Absence | null, shell: ReturnType<typeof useWords>['shell']): string {
  if (absence === null) return shell.absent;
  return 'created' in absence ? shell.notYet : shell.deletedThen;
}

/** The time at which the document was created or deleted, with a link to a moment at which it was there. */
function AbsenceText({ absence, title }: { absence: Absence | null; title?: string }) {
  const { shell } = useWords();
  const language = useLanguage();
  const setAsOf = useSetAsOf();
  const [path] = useLocation();
  const told = absence && turnOf(absence, shell);
  const text = told === null ? shell.absentText : told.text(momentOf(told.recordedAt, language), told.position);
  return (
    <Notice icon="clock" title={title ?? text}>
      {title !== undefined && <p>{text}</p>}
      {told !== null && <Link to={`${path}?asOf=${told.asOf}`}>{told.link}</Link>}
      <Button variant="default" onClick={() => setAsOf(null)}>
        {shell.backToNow}
      </Button>
    </Notice>
  );
}

function turnOf(absence: Absence, shell: ReturnType<typeof useWords>['shell']) {
  if ('created' in absence) {
    const { created } = absence;
    return { ...created, text: shell.createdAt, asOf: created.position, link: shell.asItWasCreated };
  }
  const { deleted } = absence;
  return { ...deleted, text: shell.deletedAt, asOf: deleted.position - 1, link: shell.asItLastWas };
}
