import { createContext, use } from 'react';
import type { Language } from './index.ts';

/** The context of the function that changes the language. */
export const LanguageContext = createContext<(language: Language) => void>(() => undefined);

/** The function that changes the language of the interface. */
export function useChooseLanguage(): (language: Language) => void {
  return use(LanguageContext);
}
