import { useSyncExternalStore } from 'react';
import { asOfParameter } from './as-of.ts';
import { openListeners } from './listeners.ts';

const positions = new Map<string, number>();
const { tell, subscribe } = openListeners();

/** Keeps the position of the log that an answer as of a moment has in its header `annals-position`. */
export function keepPosition(url: string, { headers }: Response): void {
  const position = headers.get('annals-position');
  const asOf = position === null ? null : new URL(url, location.href).searchParams.get(asOfParameter);
  if (asOf === null || positions.get(asOf) === Number(position)) return;
  positions.set(asOf, Number(position));
  tell();
}

/** Forgets all positions. */
export function forgetPositions(): void {
  positions.clear();
  tell();
}

/** The position of the log at a moment; undefined until an answer has said it. */
export function positionOf(asOf: string): number | undefined {
  return positions.get(asOf);
}

/** As {@link positionOf}, for a component: it renders again once the position is known. */
export function usePositionOf(asOf: string | null): number | undefined {
  return useSyncExternalStore(subscribe, () => (asOf === null ? undefined : positionOf(asOf)));
}
