import { Page } from '../../shell/page.tsx';

/** To be built. */
export function KeysPage() {
  return <Page title="KeysPage">{null}</Page>;
}
