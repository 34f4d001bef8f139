import { useEffect, useState } from 'react';

/** The token of a link that was sent or printed. It is removed from the browser's history and address bar. */
export function useLinkToken(): string | null {
  const [token] = useState(() => new URLSearchParams(location.search).get('token') || null);
  useEffect(() => {
    const search = new URLSearchParams(location.search);
    search.delete('token');
    const rest = search.size > 0 ? `?${search}` : '';
    history.replaceState(history.state, '', location.pathname + rest);
  }, []);
  return token;
}
