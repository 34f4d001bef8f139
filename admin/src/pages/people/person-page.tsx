import { Page } from '../../shell/page.tsx';

/** To be built. */
export function PersonPage() {
  return <Page title="PersonPage">{null}</Page>;
}
