import { Page } from '../../shell/page.tsx';

/** To be built. */
export function TrashPage() {
  return <Page title="TrashPage">{null}</Page>;
}
