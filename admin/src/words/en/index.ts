import { access } from './access.ts';
import { drafts } from './drafts.ts';
import { form } from './form.ts';
import { history } from './history.ts';
import { home } from './home.ts';
import { inputs } from './inputs.ts';
import { list } from './list.ts';
import { media, references } from './media.ts';
import { palette } from './palette.ts';
import { people } from './people.ts';
import { shared } from './shared.ts';
import { shell } from './shell.ts';
import { trash } from './trash.ts';

export const en = {
  access,
  drafts,
  form,
  history,
  home,
  inputs,
  list,
  media,
  palette,
  people,
  references,
  shared,
  shell,
  trash,
};
