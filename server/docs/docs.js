/* The script of the documentation page: it loads the description, with an API key where it is not public, and shows it. */

const form = document.querySelector('#key');
const problem = document.querySelector('#key-problem');
const siteField = document.querySelector('#site');
/** Which of several sites is described; empty where there is but one. */
let site = new URLSearchParams(location.search).get('site') ?? '';

form.addEventListener('submit', (event) => {
  event.preventDefault();
  site = siteField.value.trim();
  load(form.querySelector('#key-text').value);
});

load(null);

/** @param {string | null} key */
async function load(key) {
  const headers = { ...ofSite(), ...(key === null ? {} : { 'x-api-key': key }) };
  const response = await fetch('openapi.json', { headers }).catch(() => null);
  if (response?.ok) {
    form.hidden = true;
    // The key does not stay in the page for others to find.
    form.reset();
    show(await response.json(), key);
    return;
  }
  form.hidden = false;
  await askForSite(response);
  if (response?.status === 401) problem.textContent = key === null ? '' : 'This key is not valid.';
  else problem.textContent = `The service answered ${response?.status ?? 'nothing'}. Try again.`;
}

function ofSite() {
  return site === '' ? {} : { 'x-site-id': site };
}

/** Where there are several, one must be named before anything else is looked at. */
async function askForSite(response) {
  const body = await response?.json().catch(() => null);
  if (site === '' && !body?.message?.includes('x-site-id')) return;
  siteField.value = site;
  siteField.closest('p').hidden = false;
}

function show(spec, key) {
  const ui = globalThis.SwaggerUIBundle({
    spec,
    dom_id: '#api',
    deepLinking: true,
    // The key that opened the description is the one to try it out with. It is kept in memory only.
    onComplete: () => key !== null && ui.preauthorizeApiKey('apiKey', key),
    requestInterceptor: (request) => ({
      ...request,
      url: inBrackets(request.url),
      headers: { ...request.headers, ...ofSite() },
    }),
  });
}

/** Swagger UI writes what is nested in a filter as JSON: where[name]={"equals":"x"}. It becomes where[name][equals]=x. */
function inBrackets(url) {
  const [path, query = ''] = url.split('?');
  const parameters = [...new URLSearchParams(query)].flatMap(([name, value]) => {
    return name.startsWith('where[') ? flatten(name, readNested(value)) : [[name, value]];
  });
  return parameters.length === 0 ? url : `${path}?${new URLSearchParams(parameters)}`;
}

/** A text may begin as JSON does, and be none. */
function readNested(value) {
  try {
    return /^[{[]/.test(value) ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/**
 * A list of conditions has an index in the name, and a list of values the same name several times. What is empty stays as
 * a name without a value: without it the service would not see that there was a condition.
 */
function flatten(name, value) {
  if (!isNested(value)) return [[name, String(value)]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[name, '']];
  const hasIndex = !Array.isArray(value) || value.some(isNested);
  return entries.flatMap(([key, inside]) => flatten(hasIndex ? `${name}[${key}]` : name, inside));
}

function isNested(value) {
  return typeof value === 'object' && value !== null;
}
