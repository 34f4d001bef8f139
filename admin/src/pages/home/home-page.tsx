import { Page } from '../../shell/page.tsx';

/** To be built. */
export function HomePage() {
  return <Page title="HomePage">{null}</Page>;
}
