import { Page } from '../../shell/page.tsx';

/** To be built. */
export function HistoryPage() {
  return <Page title="HistoryPage">{null}</Page>;
}

/** To be built. */
export function GlobalHistoryPage() {
  return <Page title="GlobalHistoryPage">{null}</Page>;
}
