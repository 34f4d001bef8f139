/**
 * How our modules came here: as they are in the checkout, or as a bundle (bundle.ts): of the checkout, in the package,
 * in the binary.
 */
export type Form = 'sources' | 'checkout' | 'package' | 'binary';

/** The word that a bundle has for itself. */
declare const annalsForm: Form | undefined;

export const form: Form = typeof annalsForm === 'undefined' ? 'sources' : annalsForm;

/**
 * Holds `server`: the checkout; `dist` in the package; and in the binary an address below which there are no files, for
 * which binary/bootstrap.cjs answers. A bundle is in one folder: `build/bundle` of the checkout, else `app`.
 */
export const root = new URL(form === 'sources' || form === 'checkout' ? '../../' : '../', import.meta.url);
