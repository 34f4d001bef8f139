import { usualSizes } from '../events/segments/segment-writer.ts';

// Loaded before a service, by `--import`: its log never has enough events for a segment.
Object.assign(usualSizes, { events: Number.MAX_SAFE_INTEGER });
