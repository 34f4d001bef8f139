import { Page } from '../../shell/page.tsx';

/** To be built. */
export function PeoplePage() {
  return <Page title="PeoplePage">{null}</Page>;
}
