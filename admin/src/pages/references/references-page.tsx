import { Page } from '../../shell/page.tsx';

/** To be built. */
export function ReferencesPage() {
  return <Page title="ReferencesPage">{null}</Page>;
}
