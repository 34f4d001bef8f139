import { Page } from '../../shell/page.tsx';

/** To be built. */
export function DocumentPage() {
  return <Page title="DocumentPage">{null}</Page>;
}

/** To be built. */
export function CreatePage() {
  return <Page title="CreatePage">{null}</Page>;
}
