/* The script of the account pages. Which page it is, and of which collection, is the end of its own path. */

const pages = {
  'accept-invite': {
    title: 'Accept your invitation',
    text: 'Choose a password for your new account.',
    button: 'Create my account',
    done: 'Your account is ready',
  },
  'reset-password': {
    title: 'Choose a new password',
    text: 'You will be logged out wherever you are logged in now.',
    button: 'Change my password',
    done: 'Your password is changed',
  },
  setup: {
    title: 'Create the first account',
    text: 'It is the administrator’s: it may do everything, and invite others.',
    button: 'Create the account',
    done: 'The first account is ready',
    refused: 'There is an account already, or a newer link was printed.',
  },
};
const refused = 'It was used already, it has expired, or a newer one took its place. Please ask for a new one.';

const [slug, name] = location.pathname.split('/').slice(-2);
const page = pages[name];
const isSetup = name === 'setup';
const tokenField = isSetup ? 'setupToken' : 'token';
const query = new URLSearchParams(location.search);
const token = query.get('token');
/** Which of several sites the page is of; null where there is but one. */
const site = query.get('site');
// The token stays neither in the history nor on the screen.
history.replaceState(null, '', location.pathname + (site === null ? '' : `?${new URLSearchParams({ site })}`));

const find = (selector) => document.querySelector(selector);
const [main, form, button, message] = ['main', 'form', 'button', '#message'].map(find);
/**
 * The inputs by the field of the body that they fill. Not by `name`: one called `hidden` would be in the form's way.
 */
const inputs = new Map();
let repeat = null;

find('#host').textContent = location.host;
if (token) open();
else end('This link is not complete', 'Its token is missing here. Please open the whole link once more.');

function open() {
  say(page.title, page.text);
  button.textContent = page.button;
  const password = { type: 'password', autocomplete: 'new-password', required: true };
  if (isSetup) addField('email', 'E-mail', { type: 'email', autocomplete: 'username', required: true });
  addField('password', 'Password', { ...password, minLength: 8, hint: '8 characters or more' });
  repeat = addField(null, 'The same password again', password);
  form.addEventListener('submit', submit);
  form.hidden = false;
  find('input').focus();
}

/** @param {string | null} field what the input fills in the body; null for one that is not sent. */
function addField(field, label, { hint = '', ...properties } = {}) {
  const element = find('template').content.firstElementChild.cloneNode(true);
  const [labelText, input, hintText, problem] = element.querySelectorAll('span, input, p');
  labelText.textContent = label;
  hintText.textContent = hint;
  [hintText.id, problem.id] = [`hint-${form.length}`, `problem-${form.length}`];
  Object.assign(input, properties).setAttribute('aria-describedby', `${problem.id} ${hintText.id}`);
  input.addEventListener('input', () => showProblem(input, ''));
  if (field !== null) inputs.set(field, input);
  message.before(element);
  return input;
}

function showProblem(input, problem) {
  input.setAttribute('aria-invalid', problem !== '');
  input.closest('div').querySelector('.problem').textContent = problem;
}

async function submit(event) {
  event.preventDefault();
  if (button.disabled) return;
  message.textContent = '';
  for (const input of form.querySelectorAll('input')) showProblem(input, problemOf(input));
  if (focusProblem()) return;
  button.disabled = true;
  const values = [...inputs].map(([field, { value }]) => [field, value]).filter(([, value]) => value !== '');
  const { status, body } = await post({ [tokenField]: token, ...Object.fromEntries(values) });
  button.disabled = false;
  if (status === 200 || status === 201) end(page.done, 'You can log in now.', main.dataset.login);
  else showRefusal(status, body);
}

function problemOf(input) {
  if (input.required && input.value === '') return 'Please fill this in.';
  if (input.minLength > input.value.length) return `Please use ${input.minLength} characters or more.`;
  return input === repeat && input.value !== inputs.get('password').value ? 'The two passwords are not the same.' : '';
}

function focusProblem() {
  const input = find('[aria-invalid=true]');
  input?.focus();
  return input !== null;
}

async function post(body) {
  const headers = { 'content-type': 'application/json', ...(site === null ? {} : { 'x-site-id': site }) };
  const request = { method: 'POST', headers, body: JSON.stringify(body) };
  const url = `../../api/collections/${slug}/${isSetup ? 'first-user' : name}`;
  const response = await fetch(url, request).catch(() => null);
  return { status: response?.status, body: await response?.json().catch(() => null) };
}

function showRefusal(status, body) {
  const errors = body?.errors ?? [];
  // Where there is an account already, setup is refused whatever the token.
  if (errors.some(({ field }) => field === tokenField) || (isSetup && status === 403 && errors.length === 0)) {
    end('This link does not work any more', page.refused ?? refused);
    return;
  }
  const rest =
    errors.length > 0 ? [] : [body?.message ?? `The service answered ${status ?? 'nothing'}. Please try again.`];
  for (const { field, message: problem } of errors) {
    // Other required fields of this collection; nested ones do not fit a line of text.
    const input = inputs.get(field) ?? (field.includes('.') ? null : addField(field, field));
    if (input) showProblem(input, problem);
    else rest.push(problem);
  }
  message.textContent = rest.join('\n');
  if (!focusProblem()) button.focus();
}

function end(title, words, login) {
  say(title, words);
  form.remove();
  if (login) main.append(Object.assign(document.createElement('a'), { href: login, textContent: 'Log in' }));
  find('h1').focus();
}

function say(title, words) {
  document.title = title;
  find('h1').textContent = title;
  find('#text').textContent = words;
}
