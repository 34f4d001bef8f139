import type { Words } from '../index.ts';
import { access } from './access.ts';
import { inputs } from './inputs.ts';
import { media, references } from './media.ts';
import { shared } from './shared.ts';
import { shell } from './shell.ts';

export const de: Words = { shared, shell, access, inputs, media, references };
