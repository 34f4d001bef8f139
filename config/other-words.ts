import { packageName } from './package-name.ts';

/** For a word of another system, the word to write instead, or the reason why Annals has nothing like it. */
type Words = { readonly [word: string]: string };

const languages = 'Annals has no localized fields; write an object with a field for each language';
const validation =
  'Annals has min, max, minLength, maxLength, pattern and options; a beforeChange hook can refuse anything else with an error that has statusCode: 400';
const versions = 'every version is kept anyway; for drafts write "drafts"';
const eachWithDrafts = 'write drafts: true at each collection and global that has drafts';
const noRoutes = `Annals has no routes of your own; mount it in a server of your own (${packageName}/server) and add them there`;
const loginHooks = 'Annals has no login hooks';
const inAdmin = 'it belongs in admin: { … } of the field';
const setting = (environment: string) => `it is not part of the configuration; set ${environment}`;
const write = (word: string) => `write "${word}"`;

/** Makes the table from answers: each answer has the words that it stands for, separated by spaces. */
function wordsOf(answers: { readonly [answer: string]: string }): Words {
  const pairs = Object.entries(answers).flatMap(([answer, words]) => words.split(' ').map((word) => [word, answer]));
  return Object.fromEntries(pairs);
}

/** Types of fields, in lower case. */
const types = wordsOf({
  'Annals has no fields without a value; write "join" for the documents that point here, "row" for the layout': 'alias',
  [write('upload')]: 'asset',
  'Annals has createdAt and updatedAt in every document; for others write "datetime" and a hook': 'autodate',
  'write "number" with integer: true, or "text" for more than 2⁵³': 'biginteger bigint',
  [write('blocks')]: 'block dynamiczone',
  [write('boolean')]: 'bool checkbox switch toggle',
  [write('textarea')]: 'code longtext markdown',
  'write "row"; your own pages decide how to show it': 'collapsible',
  'write "object", or "array" for several': 'component',
  'Annals has no types of your own; write "json"': 'customfield',
  'write "multiSelect" if the values are known, else "json"': 'csv',
  [write('number')]: 'decimal double float',
  [write('select')]: 'dropdown',
  [write('richText')]: 'editor wysiwyg',
  'write "select" with options': 'enum enumeration',
  'write "upload" with relationTo, a collection with upload: true': 'file image media',
  [write('json')]: 'geometry',
  'write "object" with two numbers': 'geopoint point',
  [write('object')]: 'group',
  'Annals has no hashed fields; the accounts of a collection with auth: true have a password': 'hash',
  'write "number" with integer: true': 'int integer',
  [write('array')]: 'list repeater',
  'write "relationship" with hasMany: true': 'm2m',
  [write('relationship')]: 'm2o reference relation',
  [write('multiSelect')]: 'multiselect',
  'write "join", and a "relationship" in the other collection': 'o2m',
  'Annals has passwords of accounts only: auth: true of the collection, not a field': 'password',
  'write "text" with unique: true, and a beforeChange hook that fills it': 'slug uid',
  [write('text')]: 'string uuid',
  'write "object" for a tab with a name, "row" for the layout': 'tabs',
  'write "multiSelect" if the values are known, else "array"': 'tags',
  [write('datetime')]: 'timestamp',
  'Annals has no fields without a value': 'ui',
});

const fieldKeys = wordsOf({
  'write upload: { mimeTypes } at the collection of files': 'allowedtypes mimetypes',
  [write('options')]: 'choices enum values',
  [write('relationTo')]: 'collectionid ref reference target to',
  'write the fields here; a constant with "as const" can stand in several places': 'component',
  [inAdmin]: 'condition description hidden placeholder',
  'a field has no keys of your own': 'custom meta',
  [write('defaultValue')]: 'default initialvalue',
  'Annals does not narrow what a relationship may point to; a beforeChange hook can refuse it': 'filteroptions',
  'write admin: { description }': 'help note',
  [languages]: 'i18n localized translatable',
  'Annals has one form for each type': 'interface',
  'write "label", a text': 'labels',
  [write('max')]: 'maximum',
  'write hasMany: true for more than one': 'maxselect',
  [write('maxLength')]: 'max_length maxrows',
  [write('min')]: 'minimum',
  [write('minLength')]: 'min_length minrows',
  [write('hasMany')]: 'multiple',
  'every field may be null unless it has required: true': 'nullable',
  'write fields: [ … ] for objects, options: [ … ] for texts': 'of',
  'it belongs in admin: { … }; access: { create, update } of the field decides who may write it': 'readonly',
  [write('pattern')]: 'regex',
  'write type: "array" in the place of "object"': 'repeatable',
  'a token names only the account; hooks and rules get the whole account as user': 'savetojwt',
  [write('label')]: 'title',
  [validation]: 'validate validation',
  'every field is stored; an afterRead hook of the collection can change what is answered': 'virtual',
});

const collectionKeys = wordsOf({
  'admin: { … } is an option of fields': 'admin',
  'write fields, a list': 'attributes schema',
  'write admin: { description }': 'description',
  'write labels: { singular, plural }': 'displayname info title',
  [versions]: 'versioning versions',
  [write('drafts')]: 'draft draftandpublish draftpublish publishable',
  [noRoutes]: 'endpoints',
  [languages]: 'i18n localized',
  'write index: true, or unique: true, at the fields': 'indexes',
  [write('slug')]: 'key name',
  'a collection has its keys beside slug': 'options',
  [write('access')]: 'permissions rules',
  'write it among globals': 'singleton',
  'deleted documents can be restored anyway': 'softdelete trash',
  'every document has createdAt and updatedAt anyway': 'timestamps',
  'write auth: true for accounts, upload: true for files, and globals for single documents': 'type',
});

const globalKeys: Words = {
  ...collectionKeys,
  renamedfrom: 'a global keeps its slug, which names its history; write the new name as label',
  displayname: write('label'),
  info: write('label'),
  labels: write('label'),
  title: write('label'),
};

const configurationKeys = wordsOf({
  'write it at each collection and global': 'access',
  'admin: { … } is an option of fields': 'admin',
  'write it at the collection whose documents are accounts': 'auth',
  'write the fields where they are; a constant with "as const" can stand in several places': 'components',
  [write('collections')]: 'contenttypes schema schematypes',
  'Annals runs no jobs; a program of your own can call its API': 'cron jobs',
  'cookies are protected anyway; write cors for pages of other origins': 'csrf',
  [setting('--data, the directory')]: 'database db',
  'rich text is the JSON of any editor': 'editor',
  [noRoutes]: 'endpoints',
  'Annals speaks REST only': 'graphql',
  'write them at each collection and global': 'hooks',
  [setting('--host')]: 'host',
  [languages]: 'i18n locales localization',
  [setting('ANNALS_LOG_LEVEL')]: 'logger',
  'depth is at most 10': 'maxdepth',
  'write it at the top of the module, or export a function seed': 'oninit',
  'write access at each collection and global': 'permissions',
  'Annals has no plugins; a function of your own can return collections and fields': 'plugins',
  [setting('--port')]: 'port',
  [setting('ANNALS_SECRET')]: 'secret',
  'write it as an export of its own: export async function seed({ baseUrl, apiKey }) { … }': 'seed',
  [setting('ANNALS_BASE_URL')]: 'serverurl url',
  [write('globals')]: 'singletypes singletons',
  [setting('ANNALS_S3_ENDPOINT and the other ANNALS_S3_ settings, for a bucket')]: 'storage',
  'annals types writes them': 'typescript',
  'write it at the collection whose documents are files': 'upload',
  'write a collection with auth: true': 'users',
  [eachWithDrafts]: 'draftandpublish drafts versioning versions',
});

const hooks = wordsOf({
  'write "afterChange", whose operation is "create"': 'aftercreate',
  [write('afterDelete')]: 'afterdestroy',
  'the service logs its errors': 'aftererror',
  [write('afterRead')]: 'afterfind',
  [loginHooks]: 'afterlogin afterlogout beforelogin',
  'write "afterChange", "afterRead" or "afterDelete"': 'afteroperation',
  [write('afterChange')]: 'aftersave',
  'write "afterChange", whose operation is "update"': 'afterupdate',
  [write('beforeChange')]: 'aftervalidate beforesave',
  'write "beforeChange", whose operation is "create"': 'beforecreate',
  [write('beforeDelete')]: 'beforedestroy',
  'a copy is a create: write "beforeChange"': 'beforeduplicate',
  [write('beforeRead')]: 'beforefind',
  'write "beforeChange", "beforeRead" or "beforeDelete"': 'beforeoperation',
  'write "beforeChange", whose operation is "update"': 'beforeupdate',
  'write "beforeChange", which runs after validation, and whose result is validated again': 'beforevalidate',
});

const access = wordsOf({
  [write('delete')]: 'destroy remove',
  [write('update')]: 'edit',
  [write('publish')]: 'publishing unpublish',
  [write('read')]: 'find findone list query view',
  [write('readDrafts')]: 'drafts readunpublished',
  'the rule audit of the configuration says who may see the history': 'readversions',
  'annals unlock does it, on the machine of the service': 'unlock',
  'write "create" and "update"': 'write',
});

const auth = wordsOf({
  'write the texts of mails in email.templates, the page that they link to in urls.resetPassword': 'forgotpassword',
  'accounts are identified by their e-mail only': 'loginwithusername',
  'Annals knows e-mail and password, and API keys': 'strategies',
  'an invitation proves the address: invite users instead of creating them': 'verify',
});

const draftOptions = wordsOf({
  'unsaved changes are kept anyway, outside the history': 'autosave',
  'every version is kept': 'maxperdoc',
});

const upload = wordsOf({
  'Annals keeps files as they were sent, and makes no other sizes':
    'adminthumbnail crop formatoptions imagesizes resizeoptions',
  'Annals makes no other sizes; a field of your own can hold it': 'focalpoint',
  'files are kept in the data directory or in a bucket, which is a setting': 'staticdir',
});

/** The words that events of webhooks had before they were called by their types. */
const webhookEvents: Words = {
  draft: 'write "document.draft.updated" and its like, as many as are wanted',
  'document.published': 'publications are "document.created" and "document.updated", as for readers',
  'document.unpublished': 'for readers that is "document.deleted"',
  'global.published': 'for readers that is "global.updated"',
  created: write('document.created'),
  updated: 'write "document.updated" for documents, "global.updated" for globals',
  deleted: 'write "document.deleted", and "document.erased" for erased documents',
  restored: 'write "document.restored" for documents, "global.restored" for globals',
};

/** All tables, by the name that messages have for the owner of the keys. The words are in lower case. */
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
  'an event of webhooks': webhookEvents,
  auth,
  drafts: draftOptions,
  upload,
};

/**
 * The end of a message about a word that authors may know from another system: `; write "boolean"`. Empty for any other
 * word.
 *
 * @param what the owner of the key, as messages call it: "a field", "the configuration".
 */
export function otherWord(what: string, word: string): string {
  const words = otherWords[what] ?? {};
  const known = word.toLowerCase();
  return Object.hasOwn(words, known) ? `; ${words[known]}` : '';
}
