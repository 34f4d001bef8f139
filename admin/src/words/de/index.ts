import type { Words } from '../words.ts';
import { access } from './access.ts';
import { home } from './home.ts';
import { list } from './list.ts';
import { palette } from './palette.ts';
import { people } from './people.ts';
import { shared } from './shared.ts';
import { shell } from './shell.ts';
import { trash } from './trash.ts';

export const de: Words = { shared, shell, access, home, list, palette, people, trash };
