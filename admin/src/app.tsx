import { Notifications, notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { Frame } from './frame/frame.tsx';
import { AcceptInvitePage, ResetPage, SetupPage } from './pages/access/link-pages.tsx';
import { LoginDialog } from './pages/access/login-dialog.tsx';
import { ForgotPage, LoginPage } from './pages/access/login-pages.tsx';
import { UnreachablePage } from './pages/access/unreachable-page.tsx';
import styles from './parts/toasts.module.css';
import { adminPath } from './service/place.ts';
import { queries } from './service/queries.ts';
import { keepFresh, onAccountLeft, type Session, useSession } from './service/session.ts';
import { addresses } from './shell/addresses.ts';
import { addressOf } from './shell/link.tsx';
import { Loading } from './shell/loading.tsx';
import { ThemeProvider } from './theme/theme.tsx';
import { keepLanguage, type Language, type Words, WordsContext, wordsOf } from './words/index.ts';
import { LanguageContext } from './words/language.ts';

const bareTitle = document.title;
onAccountLeft(() => {
  notifications.clean();
  // The title of the previous page would stay until the next page sets its own.
  document.title = bareTitle;
});

/** The whole application. */
export function App(initial: { language: Language; words: Words }) {
  const [spoken, setSpoken] = useState(initial);
  useEffect(() => {
    document.documentElement.lang = spoken.language;
  }, [spoken.language]);
  useEffect(keepFresh, []);
  const choose = async (language: Language) => {
    keepLanguage(language);
    setSpoken({ language, words: await wordsOf(language) });
  };
  return (
    <LanguageContext value={choose}>
      <WordsContext value={spoken}>
        <ThemeProvider>
          <QueryClientProvider client={queries}>
            <Router base={adminPath}>
              <Pages session={useSession()} />
            </Router>
            <Notifications position="bottom-right" classNames={{ root: styles.toasts ?? '' }} />
          </QueryClientProvider>
        </ThemeProvider>
      </WordsContext>
    </LanguageContext>
  );
}

/** The pages before a login, and behind one the shell with all others. */
function Pages({ session }: { session: Session }) {
  if (session.state === 'starting') return <Loading />;
  if (session.state === 'unreachable') return <UnreachablePage error={session.error} />;
  const { boot } = session;
  return (
    <Switch>
      <Route path={addresses.forgot}>
        <ForgotPage boot={boot} />
      </Route>
      <Route path={addresses.reset}>
        <ResetPage boot={boot} />
      </Route>
      <Route path={addresses.acceptInvite}>
        <AcceptInvitePage boot={boot} />
      </Route>
      <Route path={addresses.setup}>
        {boot.initialized ? <Redirect to={addressOf('/')} replace /> : <SetupPage boot={boot} />}
      </Route>
      <Route path={addresses.login}>
        {session.state === 'out' ? <LoginPage boot={boot} /> : <Redirect to={addressOf('/')} replace />}
      </Route>
      <Route>
        {session.state === 'out' ? (
          <LoginPage boot={boot} />
        ) : (
          <>
            {/* By the key another account gets new pages: no state of the previous account is left in them. */}
            <Frame key={`${session.account.collection}/${session.account.user.id}`} />
            {session.state === 'expired' && <LoginDialog boot={boot} account={session.account} />}
          </>
        )}
      </Route>
    </Switch>
  );
}
