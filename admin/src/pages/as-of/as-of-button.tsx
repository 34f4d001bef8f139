/** Chooses the moment that is shown. To be built. */
export function AsOfButton() {
  return null;
}
