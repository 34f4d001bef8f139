import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Collection, Operation } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { decideNothing } from '../../events/accounts.ts';
import { accountStream, documentStream } from '../../events/catalogue.ts';
import { type Current, decideCreate, decideDelete, decideUpdate } from '../../events/documents.ts';
import type { Change, FirstAnswer } from '../../events/log.ts';
import { authorize, authorizeInAdvance, requireCredential } from '../access/access.ts';
import { refuseMissing } from '../access/document-access.ts';
import type { App, Target } from '../app.ts';
import { countCall } from '../callers/counting.ts';
import { type Intake, intakeOf } from '../files/uploads/intake.ts';
import { fileMissing, type Upload, withFileValues } from '../files/uploads/receive.ts';
import { noteReason } from '../http/reason.ts';
import { actorOf, idOf } from '../http/requests.ts';
import { readNoQuery } from '../queries/query.ts';
import { tooMany } from '../writer/waiting.ts';
import { type Presenter, sendText } from './answers.ts';
import { atMostOnce, isNamed, isRecorded } from './concurrency/attempts.ts';
import { sendTagged } from './concurrency/etags.ts';
import { requireExpected, type Written } from './concurrency/precondition.ts';
import { replayOf } from './concurrency/replay.ts';
import { after, beforeDelete, type Occasion } from './hooks.ts';
import { withPasswordOf } from './passwords.ts';
import { checkedValues, refuseTaken, write } from './writes.ts';

type Handler = (request: Request, h: ResponseToolkit) => Promise<ResponseObject>;

/** What the routes that write documents of a collection do, and how their bodies come in. */
export type DocumentWrites = { create: Handler; update: Handler; remove: Handler; intake: Intake };

const noDocument = () => null;

/** Prepares the writes of a collection (contract, section 4.1). */
export function documentWrites(app: App, target: Target<Collection>, present: Presenter): DocumentWrites {
  const { slug, documents, model } = target;
  const intake = intakeOf(app, model, admit);

  async function create(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    requireCredential(request, target, 'create');
    // Where everybody may sign up, each call costs a hash.
    if (model.auth && actorOf(request).type === 'anonymous') await countCall(app, request, null);
    const response = await intake.read(request, (body, upload) => {
      return once(request, h, { operation: 'create', body, upload }, () => createOnce(request, h, body, upload));
    });
    return response.code(201);
  }

  function update(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    requireCredential(request, target, 'update');
    return intake.read(request, (body, upload) => {
      return once(request, h, { operation: 'update', body, upload }, () => updateOnce(request, h, body, upload));
    });
  }

  function remove(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    return once(request, h, { operation: 'delete', body: null, upload: null }, () => removeOnce(request, h));
  }

  type Sent = { operation: 'create' | 'update' | 'delete'; body: unknown; upload: Upload | null };

  /** A file is received before it is known whether it was received before: it is part of what makes two requests the same. */
  function once(
    request: Request,
    h: ResponseToolkit,
    { operation, body, upload }: Sent,
    run: () => Promise<ResponseObject>,
  ): Promise<ResponseObject> {
    const data = withFileValues(body, upload);
    const replay = async (first: FirstAnswer) => {
      await upload?.hold();
      const response = await replayOf(app, request, h, { target, present, operation, data }, first);
      // The bytes came along once more: a store that has lost them has them again.
      await upload?.keep();
      return response;
    };
    return atMostOnce(app, request, target, { body, file: upload?.values ?? null }, replay, run);
  }

  async function createOnce(request: Request, h: ResponseToolkit, body: unknown, upload: Upload | null) {
    await permit(request, 'create', noDocument, withFileValues(body, upload));
    readNoQuery(request.query);
    noteReason(request, model);
    if (model.upload && !upload) throw fileMissing();
    const occasion = { request, operation: 'create', doc: null } as const;
    const values = await checkedValues(app, target, occasion, body, upload?.values);
    const { id, at } = app.ids.next();
    const decision = decideCreate(target, id, at, values);
    if (upload) await keepFor(decision, upload);
    await withPasswordOf(app, request, target, id, body, (also) =>
      write(app, request, decision.stream, async () => ({ decision, also: await also(null), answer: null })),
    );
    return answerWith(request, h, 1, occasion, target.documentOf(id, decision.events[0]?.data ?? {}));
  }

  async function updateOnce(request: Request, h: ResponseToolkit, body: unknown, upload: Upload | null) {
    const id = idOf(request);
    const stream = documentStream(slug, id);
    const data = withFileValues(body, upload);
    const decide = async (also: (unchanged: number | null) => Promise<Change[]>) => {
      const current = await find(request, 'update', data);
      readNoQuery(request.query);
      noteReason(request, model);
      const occasion = { request, operation: 'update', doc: current.document } as const;
      const values = await checkedValues(app, target, occasion, body, upload?.values);
      const decision = decideUpdate(target, id, current, values, app.ids.next().at);
      if (upload) await keepFor(decision, upload);
      const set = decision?.events[0]?.data.set as JsonObject | undefined;
      const document = target.documentOf(id, { ...current.document, ...set });
      const changes = await also(decision ? null : current.version);
      const version = current.version + (decision ? 1 : 0);
      // What changes nothing is nothing to record, but for the name under which it may be repeated.
      const named = request.app.attempt ? decideNothing(stream, current.version) : null;
      const answer = { occasion: decision && occasion, document, version };
      return { decision: decision ?? named, also: changes, answer };
    };
    const { occasion, document, version } = await withPasswordOf(app, request, target, id, body, (also) =>
      write(app, request, stream, () => decide(also)),
    );
    return answerWith(request, h, version, occasion, document);
  }

  async function removeOnce(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const id = idOf(request);
    let credential: string | null = null;
    const document = await write(app, request, documentStream(slug, id), async () => {
      const current = await find(request, 'delete');
      readNoQuery(request.query);
      noteReason(request, model);
      await beforeDelete(target, { request, operation: 'delete', doc: current.document }, current.document);
      // No password comes in between, which would be left when its account is gone.
      const account = model.auth ? app.accounts.account(slug, id) : null;
      credential = account?.credential ?? null;
      const also = account ? [decideNothing(accountStream(slug, id), account.version)] : [];
      return { decision: decideDelete(target, id, current), also, answer: current.document };
    });
    const answer = await present.document(request, document);
    if (credential) await app.keeper.forget(credential);
    await after(app, target, 'afterDelete', { request, operation: 'delete', doc: document }, document);
    return sendText(h, answer);
  }

  /** @param occasion null where nothing has changed. */
  async function answerWith(
    request: Request,
    h: ResponseToolkit,
    version: number,
    occasion: Occasion | null,
    document: JsonObject,
  ): Promise<ResponseObject> {
    const shown = occasion ? await after(app, target, 'afterChange', occasion, document) : document;
    const answer = await present.document(request, shown);
    return sendTagged(request, h, answer, present.tag(version, answer, { isStored: shown === document }));
  }

  /** The bytes are safe before a document names them. Those that it names already may be sent to mend a store. */
  async function keepFor(decision: Change | null, upload: Upload): Promise<void> {
    // It may have come for hours.
    if (app.isCrowded()) throw tooMany();
    if (decision) await refuseTaken(target, decision);
    await upload.keep();
  }

  async function admit(request: Request, operation: Operation): Promise<void> {
    const current = operation === 'create' ? null : documents.current(idOf(request));
    // Whether it is what was done before, to a document that is gone by now, the whole body has to tell.
    if (operation !== 'create' && !current && isRecorded(app, request)) return;
    if (operation !== 'create' && !current) await refuseMissing(app, request, target, operation);
    await authorizeInAdvance(app, request, target, operation, current?.document ?? null);
    if (current && !isNamed(request)) await requireExpected(written(request), current);
  }

  function written(request: Request): Written {
    const id = idOf(request);
    const answerOf = (fields: JsonObject) => target.documentOf(id, fields);
    return { app, request, target, present, stream: documentStream(slug, id), answerOf };
  }

  function permit(request: Request, operation: Operation, doc: () => JsonObject | null, data: unknown = null) {
    return authorize(app, request, target, operation, { doc, data });
  }

  async function find(request: Request, operation: 'update' | 'delete', data: unknown = null): Promise<Current> {
    const current = documents.current(idOf(request));
    if (!current) return refuseMissing(app, request, target, operation);
    await permit(request, operation, () => current.document, data);
    await requireExpected(written(request), current);
    return current;
  }

  return { create, update, remove, intake };
}
