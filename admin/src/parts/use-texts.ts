import { useMemo } from 'react';
import { useModel } from '../service/model.tsx';
import { useLanguage, useWords } from '../words/index.ts';
import type { Formatters } from './texts.ts';

/** The language and the names with which the texts of values are made. */
export function useFormatters(): Formatters {
  const { shared, list } = useWords();
  const language = useLanguage();
  const model = useModel();
  return useMemo(
    () => ({
      language,
      yes: shared.yes,
      no: shared.no,
      items: list.items,
      target: (slug) => model.collections.get(slug),
    }),
    [language, shared, list, model],
  );
}
