import { Page } from '../../shell/page.tsx';

/** To be built. */
export function MediaPage() {
  return <Page title="MediaPage">{null}</Page>;
}
