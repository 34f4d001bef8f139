import { usualSizes } from '../events/segments/segment-writer.ts';

// Loaded before a service, with `--import`, so that its log never has enough events for a segment.
Object.assign(usualSizes, { events: Number.MAX_SAFE_INTEGER });
