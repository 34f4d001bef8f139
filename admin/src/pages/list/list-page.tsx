import { Page } from '../../shell/page.tsx';

/** To be built. */
export function ListPage() {
  return <Page title="ListPage">{null}</Page>;
}
