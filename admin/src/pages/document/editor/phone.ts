import { useMediaQuery } from '@mantine/hooks';

const narrow = '(width < 48rem)';

/** Whether the page is as narrow as a phone. */
export function useIsPhone(): boolean {
  return useMediaQuery(narrow, globalThis.matchMedia(narrow).matches, { getInitialValueInEffect: false });
}
