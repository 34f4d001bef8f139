/**
 * The form of our modules: the sources of a checkout, or a bundle (bundle.ts) of the checkout, the package or the
 * binary.
 */
export type ModuleForm = 'sources' | 'checkout' | 'package' | 'binary';

/** The name that a bundle has for itself. */
declare const annalsForm: ModuleForm | undefined;

export const form: ModuleForm = typeof annalsForm === 'undefined' ? 'sources' : annalsForm;

/**
 * The root that holds `server`: the checkout; `dist` in the package; in the binary an address without files, for which
 * binary/bootstrap.cjs answers. A bundle is in one folder: `build/bundle` of the checkout, else `app`.
 */
export const root = new URL(form === 'sources' || form === 'checkout' ? '../../' : '../', import.meta.url);
