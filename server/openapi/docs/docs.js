/*
 * The script of the documentation page: it loads a description, with an API key where it is not public, and shows it.
 */

const form = document.querySelector('#key');
const problem = document.querySelector('#key-problem');
const siteField = document.querySelector('#site');
const switches = [...document.querySelectorAll('#documents button')];
const address = new URL(location.href);
const paths = { api: 'openapi.json', audit: 'audit/openapi.json' };

/** Which of several sites is described; empty where there is but one. */
let site = address.searchParams.get('site') ?? '';
/** The key that was typed. It is kept in memory only. */
let key = null;
let wanted = switches.find(({ value }) => value === address.searchParams.get('document')) ?? switches[0];
let ui = null;
const loaded = new Map();

form.addEventListener('submit', (event) => {
  event.preventDefault();
  site = siteField.value.trim();
  loaded.clear();
  key = form.querySelector('#key-text').value;
  load(wanted);
});
for (const button of switches) button.addEventListener('click', () => load(button));

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

/** One Swagger UI shows both, so that what was authorized for the one is for the other too. */
function show(button, spec) {
  document.querySelector('#documents').hidden = false;
  for (const one of switches) one.setAttribute('aria-pressed', String(one === button));
  if (ui) {
    ui.specActions.updateSpec(JSON.stringify(spec));
    address.searchParams.set('document', button.value);
    history.replaceState(null, '', address.pathname + address.search);
    return;
  }
  ui = globalThis.SwaggerUIBundle({
    spec,
    dom_id: '#api',
    deepLinking: true,
    // The key that opened the description is the one to try it out with.
    onComplete: () => key !== null && ui.preauthorizeApiKey('apiKey', key),
    // The operations of a tag are drawn when it is opened: all at once take most of the time of the page.
    docExpansion: 'none',
    plugins: [withFirstCall, withoutYaml],
    requestInterceptor: (request) => ({
      ...request,
      url: withSlashes(inBrackets(request.url)),
      headers: { ...request.headers, ...ofSite() },
    }),
  });
}

/** Swagger UI reads every description as YAML, which takes many times as long as JSON. */
function withoutYaml() {
  const parseToJson =
    (_, { specActions }) =>
    (text) =>
      specActions.updateJsonSpec(JSON.parse(text));
  return { statePlugins: { spec: { wrapActions: { parseToJson } } } };
}

/** After the title and the purpose of the API, the page shows a call to begin with. */
function withFirstCall() {
  const component =
    (Original, { React }) =>
    (properties) => {
      const call = firstCall(loaded.get(wanted) ?? {});
      const parts =
        call === null
          ? []
          : [
              ['h2', 'First call'],
              ['pre', call],
            ];
      const shown = parts.map(([name, text]) => React.createElement(name, { key: name }, text));
      return React.createElement(
        'div',
        null,
        React.createElement(Original, properties),
        React.createElement('section', { id: 'first-call' }, shown),
      );
    };
  return { wrapComponents: { InfoContainer: component } };
}

/** A command that reads something: without a key if that is possible, else the first list. */
function firstCall({ servers = [], security = [], paths = {} }) {
  const reads = Object.entries(paths).filter(
    ([path, { get }]) => get && path.startsWith('/api/') && !path.includes('{'),
  );
  const lists = reads.filter(
    ([, { get }]) => get.parameters?.length > 0 && /^(list_|audit_events$)/.test(get.operationId),
  );
  const isOpen = ([, { get }]) => (get.security ?? security).some((one) => !('apiKey' in one) && !('bearer' in one));
  const found = lists.find(isOpen) ?? lists[0] ?? reads[0];
  if (!found) return null;
  const url = new URL(`${(servers[0]?.url ?? '').replace(/\/$/, '')}${found[0]}`, location.origin);
  const headers = { ...(isOpen(found) ? {} : { 'x-api-key': 'YOUR-KEY' }), ...ofSite() };
  const given = Object.entries(headers).map(([name, value]) => ` -H '${name}: ${value}'`);
  return `curl '${url}?limit=2'${given.join('')}`;
}

/** The path of a tile has slashes, which Swagger UI writes as their codes. */
function withSlashes(url) {
  const [path, ...rest] = url.split('?');
  return path.includes('/api/audit/tile/') ? [path.replaceAll('%2F', '/'), ...rest].join('?') : url;
}

/**
 * Swagger UI writes what is nested in a filter as JSON: where[name]={"equals":"x"}. It becomes where[name][equals]=x.
 */
function inBrackets(url) {
  const [path, query = ''] = url.split('?');
  const parameters = [...new URLSearchParams(query)].flatMap(([name, value]) => {
    return name.startsWith('where[') ? flatten(name, readNested(value)) : [[name, value]];
  });
  return parameters.length === 0 ? url : `${path}?${new URLSearchParams(parameters)}`;
}

/** A text may begin as JSON does, and not be JSON. */
function readNested(value) {
  try {
    return /^[{[]/.test(value) ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/**
 * A list of conditions has an index in the name, and a list of values the same name several times. An empty value stays
 * as a name without a value: without it the service would not see that there was a condition.
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
