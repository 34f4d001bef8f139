/** Gives the word to write in the place of one that another system has, or the reason why Annals has nothing of the kind. */
type Words = { readonly [word: string]: string };

const languages = 'Annals has no localized fields; write an object with a field for each language';
const validation =
  'Annals has min, max, minLength, maxLength, pattern and options; a beforeChange hook refuses the rest by an error with statusCode: 400';
const versions =
  'every version is kept anyway; for drafts write a select such as status, and a read rule that looks at it';
const noRoutes = 'Annals has no routes of your own; put it into a server of yours (annals/server) and add them there';
const loginHooks = 'Annals has no hooks of logins';
const inAdmin = 'it belongs into admin: { … } of the field';
const setting = (environment: string) => `it is not part of the configuration; set ${environment}`;
const write = (word: string) => `write "${word}"`;

/** The types of fields, in lower case. */
const types: Words = {
  alias: 'Annals has no fields without a value; write "join" for what points here, "row" for the layout',
  asset: write('upload'),
  autodate: 'Annals has createdAt and updatedAt in every document; for others write "datetime" and a hook',
  biginteger: 'write "number" with integer: true, or "text" for more than 2⁵³',
  bigint: 'write "number" with integer: true, or "text" for more than 2⁵³',
  block: write('blocks'),
  bool: write('boolean'),
  checkbox: write('boolean'),
  code: write('textarea'),
  collapsible: 'write "row", and show it as you like',
  component: 'write "object", or "array" where there are several',
  customfield: 'Annals has no types of your own; write "json"',
  csv: 'write "multiSelect" where the values are known, else "json"',
  decimal: write('number'),
  double: write('number'),
  dropdown: write('select'),
  dynamiczone: write('blocks'),
  editor: write('richText'),
  enum: 'write "select" with options',
  enumeration: 'write "select" with options',
  file: 'write "upload" with relationTo, a collection with upload: true',
  float: write('number'),
  geometry: write('json'),
  geopoint: 'write "object" with two numbers',
  group: write('object'),
  hash: 'Annals keeps no hashes in fields; accounts, of a collection with auth: true, have a password',
  image: 'write "upload" with relationTo, a collection with upload: true',
  int: 'write "number" with integer: true',
  integer: 'write "number" with integer: true',
  list: write('array'),
  longtext: write('textarea'),
  m2m: 'write "relationship" with hasMany: true',
  m2o: write('relationship'),
  markdown: write('textarea'),
  media: 'write "upload" with relationTo, a collection with upload: true',
  multiselect: write('multiSelect'),
  o2m: 'write "join", and a "relationship" in the other collection',
  password: 'Annals has passwords of accounts only: auth: true of the collection, not a field',
  point: 'write "object" with two numbers',
  reference: write('relationship'),
  relation: write('relationship'),
  repeater: write('array'),
  slug: 'write "text" with unique: true, and a beforeChange hook that fills it',
  string: write('text'),
  switch: write('boolean'),
  tabs: 'write "object" for one that has a name, "row" for the layout',
  tags: 'write "multiSelect" where the values are known, else "array"',
  timestamp: write('datetime'),
  toggle: write('boolean'),
  ui: 'Annals has no fields without a value',
  uid: 'write "text" with unique: true, and a beforeChange hook that fills it',
  uuid: write('text'),
  wysiwyg: write('richText'),
};

const fieldKeys: Words = {
  allowedtypes: 'write upload: { mimeTypes } at the collection of files',
  choices: write('options'),
  collectionid: write('relationTo'),
  component: 'write the fields here; a constant with "as const" can stand in several places',
  condition: inAdmin,
  custom: 'a field has no keys of your own',
  default: write('defaultValue'),
  description: inAdmin,
  enum: write('options'),
  filteroptions: 'Annals does not narrow what a relationship may point to; a beforeChange hook can refuse it',
  help: 'write admin: { description }',
  hidden: inAdmin,
  i18n: languages,
  initialvalue: write('defaultValue'),
  interface: 'Annals has one form for each type',
  labels: 'write "label", a text',
  localized: languages,
  maximum: write('max'),
  maxselect: 'write hasMany: true for more than one',
  max_length: write('maxLength'),
  maxrows: write('maxLength'),
  meta: 'a field has no keys of your own',
  mimetypes: 'write upload: { mimeTypes } at the collection of files',
  minimum: write('min'),
  min_length: write('minLength'),
  minrows: write('minLength'),
  multiple: write('hasMany'),
  note: 'write admin: { description }',
  nullable: 'every field may be null that is not required: true',
  of: 'write fields: [ … ] for objects, options: [ … ] for texts',
  placeholder: inAdmin,
  readonly: 'it belongs to admin: { … }; who may write a field, its access: { create, update } says',
  ref: write('relationTo'),
  reference: write('relationTo'),
  regex: write('pattern'),
  repeatable: 'write type: "array" in the place of "object"',
  savetojwt: 'tokens name the account alone; hooks and rules have it whole, as user',
  target: write('relationTo'),
  title: write('label'),
  to: write('relationTo'),
  translatable: languages,
  validate: validation,
  validation,
  values: write('options'),
  virtual: 'every field is stored; an afterRead hook of the collection can change what is answered',
};

const collectionKeys: Words = {
  admin: 'admin: { … } is an option of fields',
  attributes: 'write fields, a list',
  description: 'labels are all that a collection is described by',
  displayname: 'write labels: { singular, plural }',
  drafts: versions,
  endpoints: noRoutes,
  i18n: languages,
  indexes: 'write index: true, or unique: true, at the fields',
  info: 'write labels: { singular, plural }',
  key: write('slug'),
  localized: languages,
  name: write('slug'),
  options: 'a collection has its keys beside slug',
  permissions: write('access'),
  rules: write('access'),
  schema: 'write fields, a list',
  singleton: 'write it among globals',
  softdelete: 'what is deleted can be restored anyway',
  timestamps: 'every document has createdAt and updatedAt anyway',
  title: 'write labels: { singular, plural }',
  trash: 'what is deleted can be restored anyway',
  type: 'write auth: true for accounts, upload: true for files, and globals for single documents',
  versions,
};

const globalKeys: Words = {
  ...collectionKeys,
  displayname: write('label'),
  info: write('label'),
  labels: write('label'),
  title: write('label'),
};

const configurationKeys: Words = {
  access: 'write it at each collection and global',
  admin: 'admin: { … } is an option of fields',
  auth: 'write it at the collection whose documents are accounts',
  components: 'write the fields where they are; a constant with "as const" can stand in several places',
  contenttypes: write('collections'),
  cron: 'Annals runs no jobs; a program of yours can call its API',
  csrf: 'cookies are guarded anyway; write cors for pages of other origins',
  database: setting('--data, the directory'),
  db: setting('--data, the directory'),
  editor: 'rich text is the JSON of any editor',
  endpoints: noRoutes,
  graphql: 'Annals speaks REST only',
  hooks: 'write them at each collection and global',
  host: setting('--host'),
  i18n: languages,
  jobs: 'Annals runs no jobs; a program of yours can call its API',
  locales: languages,
  localization: languages,
  logger: setting('ANNALS_LOG_LEVEL'),
  maxdepth: 'depth is at most 10',
  oninit: 'write it at the top of the module, or export a function seed',
  permissions: 'write access at each collection and global',
  plugins: 'Annals has no plugins; a function of yours can give collections and fields',
  port: setting('--port'),
  schema: write('collections'),
  schematypes: write('collections'),
  secret: setting('ANNALS_SECRET'),
  seed: 'write it as an export of its own: export async function seed({ baseUrl, apiKey }) { … }',
  serverurl: setting('ANNALS_BASE_URL'),
  singletypes: write('globals'),
  singletons: write('globals'),
  storage: setting('ANNALS_S3_ENDPOINT and its kin, for a bucket'),
  typescript: 'annals types writes them',
  upload: 'write it at the collection whose documents are files',
  url: setting('ANNALS_BASE_URL'),
  users: 'write a collection with auth: true',
  versions,
};

const hooks: Words = {
  aftercreate: 'write "afterChange", whose operation is "create"',
  afterdestroy: write('afterDelete'),
  aftererror: 'errors are in the log',
  afterfind: write('afterRead'),
  afterlogin: loginHooks,
  afterlogout: loginHooks,
  afteroperation: 'write "afterChange", "afterRead" or "afterDelete"',
  aftersave: write('afterChange'),
  afterupdate: 'write "afterChange", whose operation is "update"',
  aftervalidate: write('beforeChange'),
  beforecreate: 'write "beforeChange", whose operation is "create"',
  beforedestroy: write('beforeDelete'),
  beforeduplicate: 'a copy is a create: write "beforeChange"',
  beforefind: write('beforeRead'),
  beforelogin: loginHooks,
  beforeoperation: 'write "beforeChange", "beforeRead" or "beforeDelete"',
  beforesave: write('beforeChange'),
  beforeupdate: 'write "beforeChange", whose operation is "update"',
  beforevalidate: 'write "beforeChange", which runs after validation, and whose result is validated again',
};

const access: Words = {
  destroy: write('delete'),
  edit: write('update'),
  find: write('read'),
  findone: write('read'),
  list: write('read'),
  query: write('read'),
  readversions: 'the rule audit of the configuration says who may see the history',
  remove: write('delete'),
  unlock: 'annals unlock does it, on the machine of the service',
  view: write('read'),
  write: 'write "create" and "update"',
};

const auth: Words = {
  forgotpassword: 'the texts of mails are email.templates, the page that they lead to urls.resetPassword',
  loginwithusername: 'accounts are found by their e-mail alone',
  strategies: 'Annals knows e-mail and password, and API keys',
  verify: 'an address is proved by an invitation: invite in the place of create',
};

const upload: Words = {
  adminthumbnail: 'Annals keeps what was sent, and makes no other sizes',
  crop: 'Annals keeps what was sent, and makes no other sizes',
  focalpoint: 'Annals makes no other sizes; a field of yours can hold it',
  formatoptions: 'Annals keeps what was sent, and makes no other sizes',
  imagesizes: 'Annals keeps what was sent, and makes no other sizes',
  resizeoptions: 'Annals keeps what was sent, and makes no other sizes',
  staticdir: 'files are kept in the data directory or in a bucket, which is a setting',
};

/** All of them, in lower case, by what has the keys, as messages call it. */
export const otherWords: { readonly [what: string]: Words } = {
  'a type of field': types,
  'a field': fieldKeys,
  'a collection': collectionKeys,
  'a global': globalKeys,
  'the configuration': configurationKeys,
  'the hooks of a collection': hooks,
  'the hooks of a global': hooks,
  'the hooks of a field': hooks,
  'the access rules of a collection': access,
  'the access rules of a global': access,
  'the access rules of a field': access,
  auth,
  upload,
};

/**
 * The end of a message about a word that authors may know from elsewhere: `; write "boolean"`. Nothing for any other word.
 *
 * @param what what should know the word, as messages call it: "a field", "the configuration".
 */
export function otherWord(what: string, word: string): string {
  const words = otherWords[what] ?? {};
  const known = word.toLowerCase();
  return Object.hasOwn(words, known) ? `; ${words[known]}` : '';
}
