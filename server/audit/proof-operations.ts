import Joi from 'joi';
import { forAuditors, plainText, refusalOfSigning, unknownToLog } from '../openapi/audit/responses.ts';
import { schemaRef } from '../openapi/fields.ts';
import type { ApiOperation } from '../openapi/operation.ts';
import { json } from '../openapi/responses.ts';
import { count, oneOf } from '../queries/parameters.ts';
import { atPosition } from './event-operations.ts';

/** `GET /api/audit/checkpoint` */
export function checkpointOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_checkpoint',
    tag: 'proofs',
    summary: 'Read a signed checkpoint of the log as it is now',
    description:
      'Signs the size of the log and the root of the tree over all its events. If you keep a copy, a later proof shows that ' +
      'the log has only grown since then.',
    answers: { 200: plainText('A signed note (C2SP tlog-checkpoint).'), ...refusalOfSigning() },
  });
}

/** The query of the checkpoints with signatures from outside. */
export const stampsParameters = {
  covers: count({ least: 1 }, 'The position of an event: adds the first checkpoints that cover it.'),
};

/** `GET /api/audit/stamps` */
export function stampsOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_stamps',
    tag: 'proofs',
    summary: 'Read the checkpoints with cosignatures and time stamps',
    description:
      'Returns, for each witness and time-stamp authority, the newest checkpoint that it has seen, and with `covers` also ' +
      'the first one that covers an event: the event existed by the stated time.',
    query: stampsParameters,
    answers: { 200: json('The checkpoints, by their size.', 'Stamps'), ...refusalOfSigning() },
  });
}

const tilePath = Joi.string()
  .pattern(/^(entries|\d|[1-5]\d|6[0-3])\/(x\d{3}\/){0,4}\d{3}(\.p\/[1-9]\d{0,2})?$/)
  .required()
  .description(
    'Level and index, `<L>/<N>[.p/<W>]`, or `entries/<N>[.p/<W>]`: `0/000`, `0/x001/234.p/7`. Its slashes are sent as they ' +
      'are, not as `%2F`.',
  );

/** `GET /api/audit/tile/{path}` */
export function tileOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_tile',
    tag: 'proofs',
    summary: 'Read a tile of the tree, or the headers of the events under it',
    description:
      'For auditors who check the log without requesting single proofs, or keep a copy of the tree. A tile never changes, ' +
      'and may be cached for ever.',
    params: Joi.object({ path: tilePath }),
    answers: {
      200: {
        description: 'Hashes of 32 bytes, or headers, each after its length in two bytes (C2SP tlog-tiles).',
        schema: { type: 'string', format: 'binary' },
        type: 'application/octet-stream',
      },
      ...unknownToLog('There is no such tile in the tree of the newest checkpoint.'),
      ...refusalOfSigning(),
    },
  });
}

/** The query of an inclusion proof. */
export const inclusionParameters = { format: oneOf(['tlog-proof', 'json'], 'tlog-proof', 'How it is written.') };

/** `GET /api/audit/proofs/{position}` */
export function inclusionOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_inclusionProof',
    tag: 'proofs',
    summary: 'Prove that an event is in the log',
    description:
      'Returns the header of an event and the hashes that lead from it to the root of a signed checkpoint, so that the ' +
      'client need not trust the service. The header has the author, the action, the time, and the hash of the payload.',
    params: atPosition,
    query: inclusionParameters,
    answers: {
      200: {
        ...plainText('The header of the event and the proof, as text (C2SP tlog-proof) or as JSON.'),
        others: { 'application/json': schemaRef('InclusionProof') },
      },
      ...unknownToLog('There is no such event.'),
      ...refusalOfSigning(),
    },
  });
}

/** The query of a consistency proof. */
export const consistencyParameters = {
  from: count({ least: 0, isRequired: true }, 'The size of the earlier log.'),
  to: count({ least: 0 }, 'The size of the later log, at least `from`; by default the size of the newest checkpoint.'),
};

/** `GET /api/audit/consistency` */
export function consistencyOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_consistencyProof',
    tag: 'proofs',
    summary: 'Prove that the log only extends its earlier state',
    description:
      'Returns the hashes with which the holder of a checkpoint of `from` events can check that none of them was changed, ' +
      'moved or removed in the log of `to` events.',
    query: consistencyParameters,
    answers: { 200: json('The proof.', 'ConsistencyProof'), ...refusalOfSigning() },
  });
}
