// Takes the place of node:test: the tests are not run; their names are recorded. See test/names.js.

let names = [];
/** The suites around the tests that are being declared. */
let suites = [];
let bodies = [];

/** The tests that a module declares, each as `suite > test`. */
export async function namesOf(load) {
  names = [];
  bodies = [];
  await load();
  // A body may be asynchronous, and declare suites of its own.
  while (bodies.length > 0) {
    const { around, body } = bodies.shift();
    suites = around;
    await body();
  }
  suites = [];
  return names;
}

function declareTest(name) {
  names.push([...suites, name].join(' > ').replaceAll(/\s+/g, ' '));
}

function declareSuite(name, ...rest) {
  const body = rest.at(-1);
  if (typeof body === 'function') bodies.push({ around: [...suites, name], body });
}

const nothing = () => {};

export const it = Object.assign(declareTest, { skip: declareTest, only: declareTest, todo: declareTest });
export const test = it;
export const describe = Object.assign(declareSuite, { skip: declareSuite, only: declareSuite, todo: declareSuite });
export const suite = describe;
export { nothing as after, nothing as afterEach, nothing as before, nothing as beforeEach };
export const mock = {};
export default it;
