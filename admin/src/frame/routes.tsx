import type { ComponentType } from 'react';
import { Route, Switch } from 'wouter';
import { deferred } from '../parts/deferred.tsx';
import { Loading } from '../shell/loading.tsx';
import { NotFound } from '../shell/page.tsx';

/** A page in a file of its own, which is loaded when the page is first opened. */
function page<Name extends string>(load: () => Promise<{ [key in Name]: ComponentType }>, name: Name) {
  return deferred(async () => (await load())[name], <Loading />);
}

const HomePage = page(() => import('../pages/home/home-page.tsx'), 'HomePage');
const ListPage = page(() => import('../pages/list/list-page.tsx'), 'ListPage');
const CreatePage = page(() => import('../pages/document/document-page.tsx'), 'CreatePage');
const DocumentPage = page(() => import('../pages/document/document-page.tsx'), 'DocumentPage');
const GlobalPage = page(() => import('../pages/document/global-page.tsx'), 'GlobalPage');
const HistoryPage = page(() => import('../pages/history/history-page.tsx'), 'HistoryPage');
const GlobalHistoryPage = page(() => import('../pages/history/history-page.tsx'), 'GlobalHistoryPage');
const ReferencesPage = page(() => import('../pages/references/references-page.tsx'), 'ReferencesPage');
const MediaPage = page(() => import('../pages/media/media-page.tsx'), 'MediaPage');
const TrashPage = page(() => import('../pages/trash/trash-page.tsx'), 'TrashPage');
const PeoplePage = page(() => import('../pages/people/people-page.tsx'), 'PeoplePage');
const PersonPage = page(() => import('../pages/people/person-page.tsx'), 'PersonPage');
const KeysPage = page(() => import('../pages/keys/keys-page.tsx'), 'KeysPage');
const MePage = page(() => import('../pages/people/me-page.tsx'), 'MePage');

/** The page of an address behind the login. Each page reads the parameters of its address itself. */
export function Routes() {
  return (
    <Switch>
      <Route path="/" component={HomePage} />
      <Route path="/c/:slug" component={ListPage} />
      <Route path="/c/:slug/new" component={CreatePage} />
      <Route path="/c/:slug/:id" component={DocumentPage} />
      <Route path="/c/:slug/:id/history" component={HistoryPage} />
      <Route path="/c/:slug/:id/references" component={ReferencesPage} />
      <Route path="/g/:slug" component={GlobalPage} />
      <Route path="/g/:slug/history" component={GlobalHistoryPage} />
      <Route path="/media" component={MediaPage} />
      <Route path="/trash" component={TrashPage} />
      <Route path="/people/:slug" component={PeoplePage} />
      <Route path="/people/:slug/:id" component={PersonPage} />
      <Route path="/keys" component={KeysPage} />
      <Route path="/me" component={MePage} />
      <Route component={NotFound} />
    </Switch>
  );
}
