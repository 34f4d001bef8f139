import Joi from 'joi';
import { maxSlots } from '../../callers/answer-slots.ts';
import { archive, forAuditors, ofEveryRoute, refusalOfSigning, unknownToLog } from '../../openapi/audit/responses.ts';
import { text } from '../../openapi/basics.ts';
import { type ApiOperation, headersOfKept, reason } from '../../openapi/operation.ts';
import {
  type DescribedAnswer,
  header,
  json,
  orInUse,
  refusalForNow,
  refusalOfOther,
  refusals,
  replayable,
  retryAfter,
} from '../../openapi/responses.ts';
import { pageLimits } from '../../queries/limits.ts';
import { count } from '../../queries/parameters.ts';
import { dryRunParameter } from '../../queries/query.ts';
import { actors } from '../actor-names.ts';
import { atPosition } from '../event-operations.ts';
import { versionParameters } from '../event-query.ts';
import { bundleParameters, exportParameters } from './request.ts';

const bundleParams = {
  document: Joi.object({ slug: named('The slug of the collection'), id: named('The id of the document') }),
  global: Joi.object({ slug: named('The slug of the global') }),
  account: Joi.object({ slug: named('The slug of the collection of users'), id: named('The id of the user') }),
};

/** The subjects of evidence packs. */
export type BundleSubject = keyof typeof bundleParams;

const crowded: DescribedAnswer = {
  ...json(`The caller has ${maxSlots.archive} exports and evidence packs under way.`, 'Error'),
  headers: retryAfter,
};

/** `GET /api/audit/bundles/…` */
export function bundleOperation(name: BundleSubject): ApiOperation {
  const isAccount = name === 'account';
  return forAuditors({
    id: `audit_${name}Bundle`,
    tag: 'exports',
    summary: `Make an evidence pack of ${isAccount ? 'an' : 'a'} ${name}`,
    description:
      'Returns a ZIP archive with everything that the log has about the subject, its files, the proofs, and a program that ' +
      'checks them offline: for readers who get nothing else and need not trust the service. The making of the pack is ' +
      'itself an event, recorded before the first byte is sent. Needs the scope `payloads`, and the right to read all ' +
      'fields, because the pack contains the exact texts of the log.',
    params: bundleParams[name],
    query: bundleParameters,
    headers: Joi.object({ 'X-Change-Reason': reason }),
    answers: {
      200: archive('The pack.', ['Content-Disposition', 'Annals-Checkpoint']),
      ...unknownToLog(`The log has nothing about ${isAccount ? 'an' : 'a'} ${name} of this name.`),
      429: crowded,
      422: json('With `complete`: more than 100,000 events came after the last one.', 'Error'),
      ...refusalOfSigning(
        'The disk is too full to sign a checkpoint or to record the pack, or too many writes are queued.',
      ),
    },
    caller: { kind: 'auditor', refusesKeys: true, refusesForeign: true },
  });
}

/** `GET /api/audit/export` */
export function exportOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_export',
    tag: 'exports',
    summary: 'Export a range of the log',
    description:
      'Returns a ZIP archive with the events of a range and their proofs. The export is itself an event, recorded before the ' +
      'first byte is sent. With a filter, the archive does not prove that no event is missing. Needs the scope `export`, and ' +
      'for payloads also `payloads`, granted by an audit rule to a user.',
    query: exportParameters,
    headers: Joi.object({ 'X-Change-Reason': reason }),
    answers: {
      200: archive('The events, with their proofs.', [
        'Content-Disposition',
        'Annals-Range',
        'Annals-Events',
        'Annals-Checkpoint',
      ]),
      429: crowded,
      ...refusalOfSigning(
        'The disk is too full to sign a checkpoint or to record the export, or too many writes are queued.',
      ),
    },
    caller: { kind: 'auditor', refusesForeign: true },
  });
}

const location = { Location: header('The address of the progress of the erasure.', text) };

/** `POST /api/audit/erasures` */
export function eraseOperation(): ApiOperation {
  return {
    id: 'audit_erase',
    tag: 'erasures',
    summary: 'Erase a document and everything about it',
    description:
      'Removes the payloads about a document from the log for ever, with its account, invitations, mails, drafts and files. ' +
      'The headers of the events and their proofs stay. An erasure cannot be undone: use `dryRun` to see what it would ' +
      'remove. Both need the right to erase. The `reason` is kept for ever, so it must not name a person.',
    query: dryRunParameter,
    headers: headersOfKept,
    body: 'Erase',
    answers: {
      200: json('With `dryRun`: what would be erased.', 'ErasureDryRun'),
      201: replayable({ ...json('The document is erased, to the last byte.', 'Erased'), headers: location }),
      202: replayable({ ...json('The erasure is recorded, and continues.', 'ErasedSoFar'), headers: location }),
      ...ofEveryRoute(),
      ...unknownToLog('There never was such a document.'),
      ...refusals([408, 413, 415]),
      409: json(
        'The document was erased already, or it is the last account of the admin collection that may update or delete others, ' +
          `or other writers keep changing it. ${orInUse}`,
        'Error',
      ),
      ...refusalOfOther,
      ...refusalForNow,
    },
    caller: { kind: 'eraser' },
  };
}

/** The query of a list that goes back along the log. */
export const erasuresParameters = {
  next: count({ least: 1 }, 'The position before which the page begins.'),
  limit: count(pageLimits, 'How many'),
  actors,
};

/** `GET /api/audit/erasures` */
export function erasuresOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_erasures',
    tag: 'erasures',
    summary: 'List erasures',
    description:
      'Returns erasures, newest first: the document, the time, the author, and with the scope `payloads` the reason.',
    query: erasuresParameters,
    answers: { 200: json('Erasures, newest first.', 'Erasures') },
  });
}

/** `GET /api/audit/erasures/{position}` */
export function erasureOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_erasure',
    tag: 'erasures',
    summary: 'Read the progress of an erasure',
    description:
      'Returns whether the last byte is gone, and if not, what the erasure waits for: files in the store, or the data ' +
      'directory.',
    params: atPosition,
    query: versionParameters,
    answers: { 200: json('The erasure.', 'Erasure'), ...unknownToLog('No erasure has this position.') },
  });
}

function named(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`${what}, current or former.`);
}
