import { createContext, use } from 'react';
import { storageName } from '../service/place.ts';
import { en } from './en/index.ts';
import type { Words } from './words.ts';

export type { Words };

/** The languages of the interface, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch' } as const;

/** The tag of a language of the interface. */
export type Language = keyof typeof languages;

/** The words of each language. All but English are in files of their own, which are loaded when they are needed. */
const loaders: Record<Language, () => Words | Promise<Words>> = {
  en: () => en,
  de: async () => (await import('./de/index.ts')).de,
};

const languageName = storageName('language');

/** The words and the language of all components below. */
export const WordsContext = createContext<{ words: Words; language: Language }>({ words: en, language: 'en' });

/** The words of the interface in the language of the user. */
export function useWords(): Words {
  return use(WordsContext).words;
}

/** The language of the interface, for dates and numbers. */
export function useLanguage(): Language {
  return use(WordsContext).language;
}

function isLanguage(text: string | null): text is Language {
  return text !== null && Object.hasOwn(languages, text);
}

/** The language chosen in this browser, else the first of the browser's languages that the interface has. */
export function chosenLanguage(): Language {
  const kept = localStorage.getItem(languageName);
  if (isLanguage(kept)) return kept;
  const wanted = navigator.languages.map((tag) => tag.split('-', 1)[0] ?? '');
  return wanted.find(isLanguage) ?? 'en';
}

/** Keeps the language for this browser. */
export function keepLanguage(language: Language): void {
  localStorage.setItem(languageName, language);
}

/** The words of a language. */
export async function wordsOf(language: Language): Promise<Words> {
  return loaders[language]();
}
