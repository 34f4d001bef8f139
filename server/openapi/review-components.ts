import type { Collection, Global, Model } from '../../config/model.ts';
import { closed, described, listOf, orNull, pageOf, place, text, time } from './basics.ts';
import { paragraphs } from './descriptions.ts';
import type { ApiSchema } from './fields.ts';
import { actor } from './pointing-components.ts';

const note = described(orNull(text), 'The note of the request.');

/** The answers about reviews. */
export const reviewAnswers = {
  Reviews: pageOf(
    closed({
      collection: described(orNull(text), 'The slug of the collection; null for a global.'),
      global: described(orNull(text), 'The slug of the global; null for a document.'),
      id: described(orNull(text), 'The id of the document; null for a global.'),
      title: text,
      version: described(place, 'The version of the draft that the request is about.'),
      newest: described(place, 'The version of the newest draft.'),
      requestedBy: actor,
      requestedAt: time,
      to: described(listOf(text), 'The ids of the users who are asked.'),
      note,
    }),
  ),
};

const bodies: Record<string, ApiSchema> = {
  ReviewRequest: {
    type: 'object',
    properties: {
      to: {
        ...listOf(text),
        maxItems: 20,
        uniqueItems: true,
        description: 'The ids of the users who are asked, of the collection whose users work in the admin application.',
      },
      note: { ...text, description: 'Required where changes need a reason. At most 2,000 characters.' },
    },
    additionalProperties: false,
  },
  ReviewRefusal: {
    type: 'object',
    properties: { note: { ...text, description: 'At most 2,000 characters.' } },
    required: ['note'],
    additionalProperties: false,
  },
};

/** The schemas about reviews; none without drafts. */
export function reviewSchemas({ collections, globals }: Model): Record<string, ApiSchema> {
  const hasDrafts = [...collections.values(), ...globals.values()].some(({ drafts }) => drafts);
  return hasDrafts ? { ...reviewAnswers, ...bodies } : {};
}

/** `POST …/{id}/review` */
export function ofRequestReview(target: Collection | Global): string {
  return paragraphs(
    'Asks for a review of the newest draft. The users in `to` get a mail with the note. A new request takes the place of ' +
      'the one before. Publishing or discarding the draft ends the review.',
    target.kind === 'collection' && target.requiresReason ? '`note` is required.' : '',
    'Needs the rights to read and to update the draft. Without unpublished changes it is a 409.',
  );
}

/** `DELETE …/{id}/review` */
export const ofWithdrawReview = paragraphs(
  'Withdraws the request for review, also one that was refused. Without a request it is a 409.',
  'For the caller who made the request, and for those whom the rule `publish` admits.',
);

/** `POST …/{id}/review/refuse` */
export const ofRefuseReview = paragraphs(
  'Refuses what the open request for review is about. The user who made the request gets a mail with the note. Without an ' +
    'open request it is a 409.',
  'Needs the right to read the draft; the rule `publish` decides.',
);

/** `GET /api/reviews` */
export const ofReviews =
  'Returns the open requests for review, of all collections and globals, whose drafts the caller may read, the newest ' +
  'first. `newest` is greater than `version` if the draft was changed since the request.';
