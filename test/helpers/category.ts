import { type Category, categoryOf } from '../../config/schema.ts';

/** The category of a collection that was never renamed. */
export function category(slug: string): Category {
  return categoryOf({ slug });
}
