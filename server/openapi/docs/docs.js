/*
 * The script of the documentation page: it loads a description, with an API key where it is not public, and shows what
 * the API is. Swagger UI, which takes most of the time of a page, comes with the first operation that is opened.
 */

import { firstCall, overviewOf } from './overview.js';

const form = document.querySelector('#key');
const problem = document.querySelector('#problem');
const overview = document.querySelector('#overview');
const siteField = document.querySelector('#site');
const switches = [...document.querySelectorAll('#documents button')];
const address = new URL(location.href);
const paths = { api: 'openapi.json', audit: 'audit/openapi.json' };

/** Which of several sites is described; empty where there is but one. */
let site = address.searchParams.get('site') ?? '';
/** The key that was typed. It is kept in memory only. */
let key = null;
let wanted = switches.find(({ value }) => value === address.searchParams.get('document')) ?? switches[0];
/** Swagger UI, once it is wanted. It shows both descriptions, so that it is authorized for both. */
let swagger = null;
const loaded = new Map();

form.addEventListener('submit', (event) => {
  event.preventDefault();
  site = siteField.value.trim();
  loaded.clear();
  key = form.querySelector('#key-text').value;
  load(wanted);
});
for (const button of switches) button.addEventListener('click', () => load(button));
addEventListener('hashchange', () => {
  if (namesOperation() && loaded.has(wanted)) openSwagger();
});

load(wanted);

/** Shows the description that a button stands for: each is fetched once. */
async function load(button) {
  wanted = button;
  const response = loaded.has(button) ? null : await get(paths[button.value]);
  if (response?.ok) loaded.set(button, await response.json());
  // Another one may have been asked for meanwhile.
  if (button !== wanted) return;
  form.hidden = loaded.has(button);
  if (!form.hidden) return refuse(response);
  // The key does not stay in the page for others to find.
  form.reset();
  problem.textContent = '';
  show(button, loaded.get(button));
}

function get(path) {
  const headers = { ...ofSite(), ...(key === null ? {} : { 'x-api-key': key }) };
  return fetch(path, { headers }).catch(() => null);
}

function ofSite() {
  return site === '' ? {} : { 'x-site-id': site };
}

async function refuse(response) {
  await askForSite(response);
  if (response?.status !== 401)
    problem.textContent = `The service answered ${response?.status ?? 'nothing'}. Try again.`;
  else problem.textContent = key === null ? '' : 'This key is not valid.';
}

/** Where there are several, one must be named before anything else is looked at. */
async function askForSite(response) {
  const body = await response?.json().catch(() => null);
  if (site === '' && !body?.message?.includes('x-site-id')) return;
  siteField.value = site;
  siteField.closest('p').hidden = false;
}

function show(button, spec) {
  document.querySelector('#documents').hidden = false;
  for (const one of switches) one.setAttribute('aria-pressed', String(one === button));
  if ((address.searchParams.get('document') ?? switches[0].value) !== button.value) note(button);
  if (swagger) return swagger.then(({ show }) => show(spec)).catch(() => {});
  overview.replaceChildren(overviewOf(spec, { call: callOf(spec), path: paths[button.value], open: openSwagger }));
  if (namesOperation()) openSwagger();
}

/** The address names the description that is shown. */
function note(button) {
  address.searchParams.set('document', button.value);
  history.replaceState(null, '', address.pathname + address.search + location.hash);
}

function callOf(spec) {
  return firstCall(spec, ofSite());
}

/** Whether the address names a tag or an operation, as Swagger UI writes it: `#/countries/list_countries`. */
function namesOperation() {
  return location.hash.startsWith('#/');
}

/** Puts Swagger UI in the place of the overview. */
async function openSwagger() {
  overview.setAttribute('aria-busy', 'true');
  problem.textContent = '';
  swagger ??= import('./swagger.js').then(({ startSwagger }) =>
    startSwagger(loaded.get(wanted), { key, headers: ofSite, firstCall: callOf }),
  );
  try {
    await swagger;
    overview.replaceChildren();
    // The link that was followed is gone.
    document.querySelector('#api').focus({ preventScroll: true });
  } catch {
    swagger = null;
    problem.textContent = 'Swagger UI could not be loaded. Try again.';
  }
  overview.removeAttribute('aria-busy');
}
