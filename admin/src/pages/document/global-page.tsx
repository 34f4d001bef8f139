import { Page } from '../../shell/page.tsx';

/** To be built. */
export function GlobalPage() {
  return <Page title="GlobalPage">{null}</Page>;
}
