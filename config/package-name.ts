/** The name of the npm package, as in package.json. Configurations import it. */
export const packageName = 'annals';
