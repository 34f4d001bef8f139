import type { HereService } from '../helpers/embedded.ts';
import type { Target } from './target.ts';
import { content } from './targets/content.ts';
import { outside } from './targets/outside.ts';
import { requests } from './targets/requests.ts';

/** All fuzzed parsers of the product, by the names of the folders of their kept inputs. */
export function parsersOf(service: Pick<HereService, 'url' | 'lines'>): Record<string, Target> {
  return { ...outside, ...requests(service), ...content };
}
