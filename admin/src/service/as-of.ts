import { useSearchParams } from 'wouter';

/** The name of the parameter for the moment, in the address of every page. */
export const asOfParameter = 'asOf';

/** The moment that the whole application shows, as `asOf` takes it; null for now. */
export function useAsOf(): string | null {
  const [search] = useSearchParams();
  return search.get(asOfParameter) || null;
}

/** Sets the moment that is shown, in the address of the page that is open; null goes back to now. */
export function useSetAsOf(): (moment: string | null) => void {
  const [, setSearch] = useSearchParams();
  return (moment) => {
    setSearch((search) => {
      if (moment === null) search.delete(asOfParameter);
      else search.set(asOfParameter, moment);
      return search;
    });
  };
}
