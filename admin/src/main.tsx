import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { startSession } from './service/session.ts';
import { chosenLanguage, wordsOf } from './words/index.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no place for the application');

const language = chosenLanguage();
void startSession();
const words = await wordsOf(language);
createRoot(root).render(<App language={language} words={words} />);
