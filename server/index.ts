import './running/embedded/node-version.ts';

export { type Mount, mount } from './running/embedded/mount.ts';
export type { BucketOptions, LineSink, ServiceOptions } from './running/embedded/options.ts';
export { annals } from './running/embedded/plugin.ts';
export type { EmbeddedReady } from './running/embedded/service.ts';
