import type { Words } from '../words.ts';

export const access: Words['access'] = {
  logIn: 'Anmelden',
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  account: 'Konto',
  forgot: 'Passwort vergessen?',
  logInAgain: 'Erneut anmelden',
  expired: 'Deine Sitzung ist abgelaufen. Was du geschrieben hast, ist noch da.',
};
