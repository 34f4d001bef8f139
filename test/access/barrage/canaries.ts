/**
 * The callers of the barrage, each with its rights in the configuration, or in its scopes. They stand in an order in
 * which a few that are spread over the list are the ones that differ most.
 */
export const callerNames = [
  ...(['admin', 'keyManager', 'anonymous', 'keyOfNothing', 'member', 'keyOfUpdates', 'editor'] as const),
  ...(['keyOfFiles', 'keyOfGlobals', 'auditor', 'keyOfHeaders', 'keyOfHistory', 'keyOfPosts', 'environment'] as const),
];
export type CallerName = (typeof callerNames)[number];

/**
 * A unique text at a place: the callers who may be shown it, the field by which it could be found, if it is one, and
 * those who may find it although they are not shown it.
 */
type Place = {
  seenBy: readonly CallerName[];
  at?: readonly [slug: string, field: string];
  foundBy?: readonly CallerName[];
};

/**
 * By the audit rule, by the scopes `payloads` and `read`, and by the key of the environment, which the audit rule
 * refuses.
 */
const history = ['auditor', 'keyOfHistory'] as const;
const editors = ['editor', 'keyManager', 'admin'] as const;
const ofPosts = ['keyOfPosts', 'environment'] as const;

/** Every value that a caller may not see, each in a place of its own. */
export const places = {
  draft: { seenBy: [...editors, ...ofPosts, ...history], at: ['posts', 'title'] },
  notes: { seenBy: [...editors, ...ofPosts, ...history], at: ['posts', 'notes'] },
  secret: { seenBy: [...ofPosts, ...history], at: ['posts', 'secret'] },
  looked: { seenBy: [...ofPosts, ...history], at: ['posts', 'looked'] },
  // A read hook hides it, and keys of the environment may filter by what is stored.
  masked: { seenBy: history, at: ['posts', 'masked'], foundBy: ['environment'] },
  hint: { seenBy: [...ofPosts, ...history], at: ['posts', 'inside.hint'] },
  rows: { seenBy: [...ofPosts, ...history], at: ['posts', 'rows.hidden'] },
  parts: { seenBy: [...ofPosts, ...history], at: ['posts', 'parts.word'] },
  data: { seenBy: [...ofPosts, ...history] },
  earlier: { seenBy: history, at: ['posts', 'title'] },
  trashed: { seenBy: history, at: ['posts', 'title'] },
  erased: { seenBy: [], at: ['posts', 'title'] },
  person: { seenBy: [...editors, 'environment', 'auditor'], at: ['people', 'title'] },
  pay: { seenBy: ['admin', 'environment', 'auditor'], at: ['people', 'pay'] },
  vault: { seenBy: ['admin', 'environment', 'auditor'], at: ['vaults', 'title'] },
  fileTitle: { seenBy: [...editors, 'keyOfFiles', 'environment', 'auditor'], at: ['files', 'title'] },
  fileName: { seenBy: [...editors, 'keyOfFiles', 'environment', 'auditor'], at: ['files', 'filename'] },
  fileBytes: { seenBy: [...editors, 'keyOfFiles', 'environment', 'auditor'] },
  nick: { seenBy: ['admin', 'environment', 'auditor'], at: ['members', 'nick'] },
  memberNote: { seenBy: ['environment', 'auditor'], at: ['members', 'note'] },
  email: { seenBy: ['admin', 'environment', 'auditor'], at: ['members', 'email'] },
  adminName: { seenBy: ['admin', 'auditor'], at: ['admins', 'title'] },
  invited: { seenBy: ['admin', 'auditor'] },
  siteHidden: { seenBy: ['keyOfGlobals', 'environment', 'auditor'] },
  closed: { seenBy: ['admin', 'keyOfGlobals', 'environment', 'auditor'] },
  reason: { seenBy: history },
  keyName: { seenBy: ['keyManager', 'environment', 'auditor'] },
  ownDraft: { seenBy: ['admin'] },
  preference: { seenBy: ['admin'] },
  preview: { seenBy: [] },
  password: { seenBy: [] },
  webhookUrl: { seenBy: [] },
  webhookSecret: { seenBy: [] },
} as const satisfies Record<string, Place>;
export type CanaryName = keyof typeof places;

export const canaryNames = Object.keys(places) as CanaryName[];

/** The beginning of all canaries, by which a search finds each. */
export const common = 'cnry';

/** The text of a canary: letters alone, so that no index and no escape divides it, and none is part of another. */
export function canary(name: CanaryName): string {
  const letters = Buffer.from(`${canaryNames.indexOf(name)}`.padStart(2, '0')).toString('hex');
  const word = [...letters].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 16))).join('');
  return `${common}${word}qz`;
}

export function placeOf(name: CanaryName): Place {
  return places[name];
}

const byText = new Map(canaryNames.map((name) => [canary(name), name]));

/** The canaries in a text. */
export function canariesIn(text: string): Set<CanaryName> {
  const found = text.match(/cnry[a-j]+qz/g) ?? [];
  return new Set(found.map((one) => byText.get(one)).filter((name) => name !== undefined));
}
