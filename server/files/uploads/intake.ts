import type { Request, RouteOptions } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import { fileTooLarge } from '../inspection/inspect.ts';
import { boundaryOf, formType, longestForm, wrongType } from './form.ts';
import { compileTexts } from './form-values.ts';
import { type ReceivedContent, receiveForm } from './receive.ts';

/** How a collection takes the bodies of writes: as JSON, and as forms too if its documents are files. */
export type Intake = {
  /** The route options for it. */
  options: (operation: Operation) => Pick<RouteOptions, 'payload' | 'ext'>;
  read: (request: Request) => Promise<ReceivedContent>;
};

/** Decides whether a request may go on before its body is read. @throws DomainError when it may not. */
type Admit = (request: Request, operation: Operation) => Promise<void>;

type Operation = 'create' | 'update';

const jsonType = 'application/json';

/**
 * Prepares the intake of a collection.
 *
 * @param admit is asked before a body that may be large.
 */
export function intakeOf(app: App, { upload, fields }: Collection, admit: Admit): Intake {
  const maxBytes = app.model.limits.body;

  async function readJson(request: Request): Promise<ReceivedContent> {
    const body = await readBody(request, maxBytes);
    return { body, upload: null, data: body };
  }

  if (!upload) {
    return {
      options: () => ({ payload: jsonPayload }),
      read: readJson,
    };
  }
  const { maxFileSize } = upload;
  const longest = longestForm(maxFileSize, maxBytes);
  const readTexts = compileTexts(fields);

  /** Before hapi tells a client that waits to go on, and before it reads a body of the wrong type to its end. */
  async function checkHead(request: Request, operation: Operation): Promise<void> {
    const { credentials } = await request.server.auth.test(strategy, request);
    request.auth.credentials = credentials;
    await admit(request, operation);
    const { 'content-type': given, 'content-length': length } = request.headers;
    const type = String(given ?? jsonType);
    if (boundaryOf(type) === null) {
      if (!/^application\/json *(;|$)/i.test(type)) throw wrongType();
    } else if (Number(length) > longest) {
      throw fileTooLarge(maxFileSize);
    }
  }

  return {
    options: (operation) => ({
      payload: { ...jsonPayload, allow: [jsonType, formType] },
      ext: {
        onPreAuth: {
          method: async (request, h) => {
            await checkHead(request, operation);
            return h.continue;
          },
        },
      },
    }),
    read: async (request) => {
      const isForm = request.mime === formType;
      const received = isForm
        ? await receiveForm({ app, request, options: upload, readTexts })
        : await readJson(request);
      // A body may take hours to arrive: rules and hooks get the user as of now, not as of the beginning. If the user's
      // sessions have ended meanwhile, none runs, and nothing is kept.
      try {
        requireLiving(app, request);
      } catch (error) {
        await received.upload?.release(error);
        throw error;
      }
      request.app.user = null;
      return received;
    },
  };
}
