/** The search over everything. To be built. */
export function Palette(_: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  return null;
}
