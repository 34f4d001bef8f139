import './embedded/node-version.ts';

export { type Mount, mount } from './embedded/mount.ts';
export type { BucketOptions, LineSink, ServiceOptions } from './embedded/options.ts';
export { annals } from './embedded/plugin.ts';
export type { EmbeddedReady } from './embedded/service.ts';
