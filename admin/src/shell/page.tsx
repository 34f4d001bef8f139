import { Button } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useModel } from '../service/model.tsx';
import { messageOf } from '../service/queries.ts';
import { Icon, type IconName } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import { Link } from './link.tsx';
import styles from './page.module.css';

type PageProps = {
  title: string;
  /** The pages above this one, the highest first. */
  crumbs?: { title: string; to: string }[];
  /** A line below the title. */
  about?: ReactNode;
  actions?: ReactNode;
  /** The whole width, for lists and forms with a side. */
  isWide?: boolean;
  children: ReactNode;
};

/** A page in the shell: its title, the pages above it, its actions and its content. */
export function Page({ title, crumbs = [], about, actions, isWide = false, children }: PageProps) {
  useDocumentTitle(title);
  return (
    <div className={isWide ? `${styles.page} ${styles.wide}` : styles.page}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {crumbs.length > 0 && (
            <ol className={styles.crumbs}>
              {crumbs.map((crumb) => (
                <li key={crumb.to}>
                  <Link to={crumb.to}>{crumb.title}</Link>
                </li>
              ))}
            </ol>
          )}
          <h1>{title}</h1>
          {about !== undefined && <div className={styles.about}>{about}</div>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

function useDocumentTitle(title: string): void {
  const { title: application } = useModel();
  useEffect(() => {
    document.title = `${title} · ${application}`;
  }, [title, application]);
}

type StateProps = { icon: IconName; title: string; children?: ReactNode };

/** A sentence in place of content that is missing or cannot be shown. */
export function Notice({ icon, title, children }: StateProps) {
  return (
    <div className={styles.state}>
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

type FailureProps = { error: unknown; again?: () => void };

/** An error in place of content, in the words of the service. */
export function Failure({ error, again }: FailureProps) {
  const { shared } = useWords();
  return (
    <div role="alert">
      <Notice icon="warning" title={messageOf(error)}>
        {again !== undefined && (
          <Button variant="default" onClick={again}>
            {shared.tryAgain}
          </Button>
        )}
      </Notice>
    </div>
  );
}

/** An error in place of a whole page. */
export function FailurePage(props: FailureProps) {
  const { shell } = useWords();
  return (
    <Page title={shell.failed}>
      <Failure {...props} />
    </Page>
  );
}

/** The page of an address that leads nowhere, or to a page that the user may not see. */
export function NotFound() {
  const { shell } = useWords();
  return (
    <Page title={shell.notFound}>
      <Notice icon="search" title={shell.notFoundText}>
        <Link to="/">{shell.toHome}</Link>
      </Notice>
    </Page>
  );
}
