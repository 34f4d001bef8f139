/*
 * Swagger UI on the documentation page: how it is loaded, and how it sends filters and paths as the service reads them.
 */

/**
 * Loads Swagger UI and shows a description in `#api`. `key` is tried with its requests, `headers()` are added to them,
 * and `firstCall` gives the call that it shows for a description.
 *
 * @returns `show`, which shows another description. @throws if Swagger UI cannot be loaded.
 */
export async function startSwagger(spec, { key, headers, firstCall }) {
  await Promise.all([
    load('link', { rel: 'stylesheet', href: 'docs/swagger-ui.css' }),
    load('script', { src: 'docs/swagger-ui-bundle.js' }),
  ]);
  let shown = spec;
  const ui = globalThis.SwaggerUIBundle({
    spec,
    dom_id: '#api',
    deepLinking: true,
    // The key that opened the description is the one to try it out with.
    onComplete: () => key !== null && ui.preauthorizeApiKey('apiKey', key),
    // The operations of a tag are drawn when it is opened: all at once take most of the time of the page.
    docExpansion: 'none',
    plugins: [withFirstCall(() => firstCall(shown)), withoutYaml, withDeepLinks],
    requestInterceptor: (request) => ({
      ...request,
      url: withSlashes(inBrackets(request.url)),
      headers: { ...request.headers, ...headers() },
    }),
  });
  return {
    show: (next) => {
      shown = next;
      ui.specActions.updateSpec(JSON.stringify(next));
    },
  };
}

function load(name, attributes) {
  return new Promise((resolve, reject) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.addEventListener('load', resolve);
    made.addEventListener('error', () => {
      made.remove();
      reject(new Error(`${attributes.src ?? attributes.href} could not be loaded`));
    });
    document.head.append(made);
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

/** As of Swagger UI, which takes `_` for a space too, and complains of each; the names of operations have it. */
function withDeepLinks() {
  const parseDeepLinkHash =
    (_, { layoutActions, layoutSelectors }) =>
    (hash) => {
      const names = hash.replace(/^#!?\//, '').split('/');
      if (names[0] === '') return;
      const place = layoutSelectors.isShownKeyFromUrlHashArray(names);
      layoutActions.show(layoutSelectors.isShownKeyFromUrlHashArray(names.slice(0, 1)), true);
      layoutActions.show(place, true);
      layoutActions.scrollTo(place);
    };
  return { statePlugins: { layout: { wrapActions: { parseDeepLinkHash } } } };
}

/** After the title and the purpose of the API, the page shows a call to begin with. */
function withFirstCall(firstCall) {
  const component =
    (Original, { React }) =>
    (properties) => {
      const call = firstCall();
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
  return () => ({ wrapComponents: { InfoContainer: component } });
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
