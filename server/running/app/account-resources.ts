import { accountStates } from '../../accounts/account-routes.ts';
import { boot } from '../../accounts/boot-routes.ts';
import { invitations } from '../../accounts/invitations.ts';
import { apiKeys } from '../../accounts/keys/routes.ts';
import { accountPages } from '../../accounts/pages/routes.ts';
import { passwords } from '../../accounts/password-routes.ts';
import { preferences } from '../../accounts/preferences-routes.ts';
import { registrations } from '../../accounts/registration-routes.ts';
import { accounts } from '../../accounts/routes.ts';
import { adminPages } from '../../admin/routes.ts';
import type { Resource } from './resource.ts';

/** The routes about accounts, API keys and the admin application. */
export const accountResources: readonly Resource[] = [
  accounts,
  registrations,
  passwords,
  invitations,
  accountStates,
  preferences,
  accountPages,
  adminPages,
  boot,
  apiKeys,
];
