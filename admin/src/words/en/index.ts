import { access } from './access.ts';
import { form } from './form.ts';
import { history } from './history.ts';
import { home } from './home.ts';
import { inputs } from './inputs.ts';
import { media, references } from './media.ts';
import { people } from './people.ts';
import { shared } from './shared.ts';
import { shell } from './shell.ts';

export const en = { access, form, history, home, inputs, media, people, references, shared, shell };
