/** The name of the npm package, as package.json has it: configurations import it. */
export const packageName = 'annals';
