import { Page } from '../../shell/page.tsx';

/** To be built. */
export function MePage() {
  return <Page title="MePage">{null}</Page>;
}
