import Joi from 'joi';
import { type Answers, json, refusals } from './answers.ts';
import { archive, ofEveryRoute, plainText, refusalOfSigning, unknownToLog } from './audit-answers.ts';
import { filters, range, stream } from './audit-operations.ts';
import { schemaRef } from './fields.ts';
import { type Operation, reason } from './operations.ts';

const atPosition = Joi.object({
  position: Joi.number().integer().min(1).required().description('The position of an event.'),
});

/** `GET /api/audit/checkpoint` */
export function checkpointOperation(): Operation {
  return {
    id: 'audit_checkpoint',
    tag: 'proofs',
    summary: 'Read a signed checkpoint of the log as it is now',
    answers: {
      200: plainText('A signed note (C2SP tlog-checkpoint).'),
      ...ofEveryRoute(),
      ...refusalOfSigning(),
    },
    caller: { kind: 'auditor' },
  };
}

const tilePath = Joi.string()
  .pattern(/^(entries|\d|[1-5]\d|6[0-3])\/(x\d{3}\/){0,4}\d{3}(\.p\/[1-9]\d{0,2})?$/)
  .required()
  .description(
    'Level and index, `<L>/<N>[.p/<W>]`, or `entries/<N>[.p/<W>]`: `0/000`, `0/x001/234.p/7`. Its slashes are sent as they ' +
      'are, not as `%2F`.',
  );

/** `GET /api/audit/tile/{path}` */
export function tileOperation(): Operation {
  return {
    id: 'audit_tile',
    tag: 'proofs',
    summary: 'Read a tile of the tree, or the headers of the events under it',
    params: Joi.object({ path: tilePath }),
    answers: {
      200: {
        description: 'Hashes of 32 bytes, or headers, each after its length in two bytes (C2SP tlog-tiles).',
        schema: { type: 'string', format: 'binary' },
        type: 'application/octet-stream',
      },
      ...ofEveryRoute(),
      ...unknownToLog('There is no such tile in the tree of the newest checkpoint.'),
      ...refusalOfSigning(),
    },
    caller: { kind: 'auditor' },
  };
}

/** `GET /api/audit/proofs/{position}` */
export function inclusionOperation(): Operation {
  return {
    id: 'audit_inclusionProof',
    tag: 'proofs',
    summary: 'Prove that an event is in the log',
    params: atPosition,
    query: Joi.object({
      format: Joi.string().valid('tlog-proof', 'json').default('tlog-proof').description('How it is written.'),
    }),
    answers: {
      200: {
        ...plainText('The header of the event and the proof, as text (C2SP tlog-proof) or as JSON.'),
        others: { 'application/json': schemaRef('InclusionProof') },
      },
      ...ofEveryRoute(),
      ...unknownToLog('There is no such event.'),
      ...refusalOfSigning(),
    },
    caller: { kind: 'auditor' },
  };
}

/** `GET /api/audit/consistency` */
export function consistencyOperation(): Operation {
  const size = Joi.number().integer().min(0);
  return {
    id: 'audit_consistencyProof',
    tag: 'proofs',
    summary: 'Prove that the log only goes on from what it was',
    query: Joi.object({
      from: size.required().description('The size that it had.'),
      to: size.description('The size that it came to, not less than `from`; by default that of the newest checkpoint.'),
    }),
    answers: { 200: json('The proof.', 'ConsistencyProof'), ...ofEveryRoute(), ...refusalOfSigning() },
    caller: { kind: 'auditor' },
  };
}

const since = Joi.array()
  .items(Joi.number().integer().min(1))
  .max(32)
  .description('Sizes of checkpoints that somebody has kept: it is proven that the log goes on from them.');

const bundleQuery = Joi.object({
  files: Joi.boolean().default(true).description('False leaves the uploaded files out.'),
  complete: Joi.boolean()
    .default(false)
    .description('True proves that there was no later version, however many events came after the last one.'),
  since,
});

const bundleParams = {
  document: Joi.object({ slug: named('The slug of the collection'), id: named('The id of the document') }),
  global: Joi.object({ slug: named('The slug of the global') }),
  account: Joi.object({ slug: named('The slug of the collection of users'), id: named('The id of the user') }),
};

/** What an evidence pack can be about. */
export type Bundled = keyof typeof bundleParams;

/** `GET /api/audit/bundles/…` */
export function bundleOperation(name: Bundled): Operation {
  const isAccount = name === 'account';
  return {
    id: `audit_${name}Bundle`,
    tag: 'exports',
    summary: `Make an evidence pack of ${isAccount ? 'an' : 'a'} ${name}`,
    params: bundleParams[name],
    query: bundleQuery,
    answers: {
      200: archive('The pack.', ['Content-Disposition', 'Annals-Checkpoint']),
      ...ofEveryRoute(),
      ...unknownToLog(`The log has nothing about ${isAccount ? 'an' : 'a'} ${name} of this name.`),
      422: json('With `complete`: more than 100,000 events came after the last one.', 'Error'),
      ...refusalOfSigning(),
    },
    caller: { kind: 'auditor', refusesKeys: true },
  };
}

/** `GET /api/audit/export` */
export function exportOperation(): Operation {
  return {
    id: 'audit_export',
    tag: 'exports',
    summary: 'Export a range of the log, which is itself put on record',
    query: Joi.object({
      ...range,
      format: Joi.string()
        .valid('ndjson', 'csv', 'cloudevents')
        .default('ndjson')
        .description('The form of the events in the archive.'),
      collection: filters.collection,
      stream,
      type: filters.type,
      actor: filters.actor,
      since,
    }),
    headers: Joi.object({ 'X-Change-Reason': reason }),
    answers: {
      200: archive('The events, and what proves them.', [
        'Content-Disposition',
        'Annals-Range',
        'Annals-Events',
        'Annals-Checkpoint',
      ]),
      ...ofEveryRoute(),
      ...refusalOfSigning('There is no room on the disk to sign what the log is, or to put the export on record.'),
    },
    caller: { kind: 'auditor', refusesForeign: true },
  };
}

const location = {
  Location: { description: 'Where it is told how far the erasure is.', required: true, schema: { type: 'string' } },
};

/** `POST /api/audit/erasures` */
export function eraseOperation(): Operation {
  return {
    id: 'audit_erase',
    tag: 'erasures',
    summary: 'Erase a document with all that is about it',
    query: Joi.object({
      dryRun: Joi.boolean().default(false).description('True: nothing is done, and the answer tells what would be.'),
    }),
    body: 'Erase',
    answers: {
      200: json('With `dryRun`: what would be erased.', 'ErasureDryRun'),
      201: { ...json('It is erased, to the last byte.', 'Erased'), headers: location },
      202: { ...json('It is recorded, and goes on.', 'ErasedSoFar'), headers: location },
      ...ofEveryRoute(),
      ...unknownToLog('There never was such a document.'),
      ...refusals([408, 413, 415]),
      409: json('It was erased already, or others keep changing it.', 'Error'),
      ...refusalOfSigning('There is no room on the disk.'),
    },
    caller: { kind: 'eraser' },
  };
}

/** `GET /api/audit/erasures` */
export function erasuresOperation(): Operation {
  return {
    id: 'audit_erasures',
    tag: 'erasures',
    summary: 'List what was erased',
    query: Joi.object({
      before: Joi.number().integer().min(1).description('The position before which the page begins.'),
      limit: Joi.number().integer().min(1).default(100).description('How many; above 100 is 100.'),
    }),
    answers: { 200: json('Erasures, newest first.', 'Erasures'), ...ofEveryRoute() },
    caller: { kind: 'auditor' },
  };
}

/** `GET /api/audit/erasures/{position}` */
export function erasureOperation(): Operation {
  const answers: Answers = {
    200: json('The erasure.', 'Erasure'),
    ...ofEveryRoute(),
    ...unknownToLog('No erasure has this position.'),
  };
  return {
    id: 'audit_erasure',
    tag: 'erasures',
    summary: 'Read how far an erasure is',
    params: atPosition,
    answers,
    caller: { kind: 'auditor' },
  };
}

function named(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`${what}, of today or of earlier.`);
}
