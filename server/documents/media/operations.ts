import Joi from 'joi';
import type { Collection } from '../../../config/model.ts';
import { hasReadHooks } from '../../../config/traits.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import {
  asOfThen,
  bytes,
  headersOf,
  json,
  ofHooks,
  refusalOfAbsent,
  refusals,
  refusalsOfStore,
} from '../../openapi/responses.ts';
import { describedOnly } from '../../queries/parameters.ts';
import { momentParameter } from '../../queries/query.ts';

const file = Joi.object({
  id: Joi.string().guid().required().description('The id of the document.'),
  filename: Joi.string().required().description('The name of the file, as the document has it.'),
});
const site = describedOnly('The site, for requests without the header that names it, such as a picture in a page.');
const ofFile = Joi.object({
  Range: Joi.string().description('The bytes to send: `bytes=0-499`, `bytes=500-` or `bytes=-500`.'),
  'If-Range': Joi.string().description(
    'The `ETag` of the bytes that the client has; if the file has another one, the whole file is sent.',
  ),
  'If-Match': Joi.string().description('The `ETag` that the file must have, else 412.'),
  'If-None-Match': Joi.string().description('The `ETag` of the bytes that the client has.'),
});

const ofBytes = [
  'ETag',
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Security-Policy',
  'Cross-Origin-Resource-Policy',
] as const;

/** The query of a file. @param name of the site; null if there is only one. */
export function mediaParameters(name: string | null) {
  return name === null ? momentParameter : { ...momentParameter, site };
}

/** `GET /api/media/<slug>/{id}/{filename}` */
export function mediaOperation(target: Collection, name: string | null): ApiOperation {
  const { slug } = target;
  return {
    id: `readFile_${slug}`,
    tag: slug,
    summary: `Read the file of a document of ${slug}`,
    description:
      'Returns the bytes, with their content type; the path is the `url` of the document. A caller who may read the document ' +
      'may read its file. `Range` asks for a part. Active content is sent so that a browser does not run it.',
    params: file,
    query: mediaParameters(name),
    headers: ofFile,
    answers: {
      200: asOfThen(bytes('The file.', ofBytes)),
      206: asOfThen(bytes('The requested bytes.', [...ofBytes, 'Content-Range'])),
      304: asOfThen({
        description: 'The file has not changed: it still has this `ETag`.',
        headers: headersOf(['ETag', 'Cross-Origin-Resource-Policy']),
      }),
      412: json('The file has another `ETag` than `If-Match` names.', 'Error'),
      416: { ...json('The file has no such bytes.', 'Error'), headers: headersOf(['Content-Range']) },
      ...refusals([400, 403, 500]),
      ...refusalOfAbsent,
      ...refusalsOfStore(),
      ...ofHooks(hasReadHooks(target)),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}
