// In the place of packages that hapi-swagger loads without need, see generator.ts: it asks swagger-ui-dist for a
// folder.
module.exports = { getAbsoluteFSPath: () => '' };
