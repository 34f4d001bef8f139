/** Words of the pages before a login. */
export const access = {
  logIn: 'Log in',
  email: 'E-mail address',
  password: 'Password',
  account: 'Account',
  forgot: 'Forgotten your password?',
  logInAgain: 'Log in again',
  expired: 'Your session is over. Your text is still here.',
};
