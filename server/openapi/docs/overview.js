/*
 * The overview of an API, from its OpenAPI description, as plain HTML: purpose, a first call, credentials, and every
 * operation, as a link to the place where Swagger UI shows it.
 */

/**
 * Makes the overview of a description. `call` is a first call or null, `path` the address of the description; `open`
 * shows Swagger UI.
 */
export function overviewOf({ info, tags = [], paths = {}, components = {} }, { call, path, open }) {
  const button = element('button', { type: 'button' }, 'Try requests out');
  button.addEventListener('click', open);
  const shown = document.createDocumentFragment();
  shown.append(
    element('h1', {}, info.title, ' ', element('small', {}, info.version)),
    ...textOf(info.description ?? ''),
    element('p', {}, 'For programs: ', element('a', { href: path }, path.split('/').at(-1)), ', OpenAPI 3.0. ', button),
    ...(call === null ? [] : [element('h2', {}, 'First call'), element('pre', {}, call)]),
    ...credentialsOf(components.securitySchemes ?? {}),
    element('h2', {}, 'Operations'),
    ...tags.map((tag) => groupOf(tag, paths)),
  );
  return shown;
}

/** A command that reads something: without a key if that is possible, else the first list. `given` are its headers. */
export function firstCall({ servers = [], security = [], paths = {} }, given) {
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
  const headers = { ...(isOpen(found) ? {} : { 'x-api-key': 'YOUR-KEY' }), ...given };
  const named = Object.entries(headers).map(([name, value]) => ` -H '${name}: ${value}'`);
  return `curl '${url}?limit=2'${named.join('')}`;
}

function credentialsOf(schemes) {
  const entries = Object.values(schemes).flatMap(({ type, in: place, name, description = '' }) => {
    const form = type === 'http' ? 'Authorization: Bearer …' : `${name}${place === 'cookie' ? '=…' : ': …'}`;
    return [element('dt', {}, element('code', {}, form)), element('dd', {}, ...inline(description))];
  });
  return entries.length === 0 ? [] : [element('h2', {}, 'Credentials'), element('dl', {}, ...entries)];
}

/** A tag with its operations, closed at first. */
function groupOf({ name, description = '' }, paths) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags?.includes(name))
      .map(([method, { operationId, summary }]) => {
        const href = `#/${[name, operationId].map(encodeURIComponent).join('/')}`;
        const words = [element('b', {}, method.toUpperCase()), ' ', element('code', {}, path)];
        return element('li', {}, element('a', { href }, ...words), ' ', element('span', {}, summary));
      }),
  );
  const title = element('summary', {}, element('b', {}, name), ' ', element('span', {}, ...inline(description)));
  return element('details', {}, title, element('ul', {}, ...operations));
}

/** The paragraphs and lists of a text in CommonMark; all else that CommonMark has stays as it is written. */
function textOf(text) {
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.split('\n');
    if (!lines.every((line) => /^[-*] /.test(line))) return element('p', {}, ...inline(block));
    return element('ul', {}, ...lines.map((line) => element('li', {}, ...inline(line.slice(2)))));
  });
}

/** Code and links of a text. */
function inline(text) {
  return text.split(/(`[^`]+`|\[[^\]]+\]\(https?:\/\/[^\s)]+\))/).map((part) => {
    const [, code] = /^`([^`]+)`$/.exec(part) ?? [];
    const [, words, href] = /^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part) ?? [];
    if (code !== undefined) return element('code', {}, code);
    return href === undefined ? part : element('a', { href }, words);
  });
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
