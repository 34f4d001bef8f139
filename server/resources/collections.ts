import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { Collection, Operation } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { decideNothing } from '../../events/accounts.ts';
import { accountStream, documentStream } from '../../events/catalogue.ts';
import { type Current, decideCreate, decideDelete, decideUpdate } from '../../events/documents.ts';
import type { Change } from '../../events/log.ts';
import type { Page } from '../../projections/documents.ts';
import { authorize, authorizeInAdvance, authorizeList, reachOf, requireCredential, type Visible } from '../access.ts';
import { countCall } from '../accounts/counting.ts';
import { withPasswordOf } from '../accounts/passwords.ts';
import { listText, presenterOf, sendText } from '../answers.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../authentication.ts';
import { noPayload } from '../body.ts';
import { sendTagged } from '../concurrency/etags.ts';
import { requireExpected, type Written } from '../concurrency/precondition.ts';
import { readableDocument, refuseMissing } from '../document-access.ts';
import { after, beforeDelete, type Occasion } from '../hooks.ts';
import {
  createOperation,
  deleteOperation,
  listOperation,
  readOperation,
  updateOperation,
} from '../openapi/operations.ts';
import { type ListQuery, readDepth, readListQuery, readNoQuery } from '../query.ts';
import { noteReason } from '../reason.ts';
import { actorOf, idOf } from '../requests.ts';
import { intakeOf } from '../uploads/intake.ts';
import { fileMissing, type Upload, withFileValues } from '../uploads/receive.ts';
import { checkedValues, refuseTaken, write } from '../writes.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

const noDocument = () => null;

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, documents, model } = target;
  const path = `/api/collections/${slug}`;
  const present = presenterOf(app, target);
  const intake = intakeOf(app, model, admit);

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => listOperation(app.model, model) } },
      handler: async (request, h) => {
        const visible = await authorizeList(app, request, target);
        const query = await readListQuery(request.query, () => reachOf(app, request, target));
        const page = await visiblePage(query, visible);
        return sendText(h, listText(await present.texts(request, page.texts, query.depth), page, query));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy, plugins: { openApi: () => readOperation(app.model, model) } },
      handler: async (request, h) => {
        const { text, version } = await readableDocument(app, request, target);
        const depth = readDepth(request.query);
        const answer = await present.text(request, text, depth);
        return sendTagged(request, h, answer, present.tag(version, answer, { depth }));
      },
    },
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: () => createOperation(app.model, model) },
        ...intake.options('create'),
      },
      handler: async (request, h) => {
        requireCredential(request, target, 'create');
        // Where everybody may sign up, each call costs a hash.
        if (model.auth && actorOf(request).type === 'anonymous') await countCall(app, request, null);
        const { occasion, document } = await intake.read(request, (body, upload) => create(request, body, upload));
        return (await answerWith(request, h, 1, occasion, document)).code(201);
      },
    },
    {
      method: 'PATCH',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        plugins: { openApi: () => updateOperation(model), takes: ['if-match'] },
        ...intake.options('update'),
      },
      handler: async (request, h) => {
        requireCredential(request, target, 'update');
        const { occasion, document, version } = await intake.read(request, (body, upload) => {
          return update(request, body, upload);
        });
        return answerWith(request, h, version, occasion, document);
      },
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: () => deleteOperation(model), takes: ['if-match'] },
      },
      handler: async (request, h) => {
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
      },
    },
  ]);

  async function create(request: Request, body: unknown, upload: Upload | null) {
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
    return { occasion, document: target.documentOf(id, decision.events[0]?.data ?? {}) };
  }

  function update(request: Request, body: unknown, upload: Upload | null) {
    const id = idOf(request);
    const data = withFileValues(body, upload);
    const attempt = async (also: (unchanged: number | null) => Promise<Change[]>) => {
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
      return { decision, also: changes, answer: { occasion: decision && occasion, document, version } };
    };
    return withPasswordOf(app, request, target, id, body, (also) =>
      write(app, request, documentStream(slug, id), () => attempt(also)),
    );
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
    if (decision) await refuseTaken(target, decision);
    await upload.keep();
  }

  async function admit(request: Request, operation: Operation): Promise<void> {
    const current = operation === 'create' ? null : documents.current(idOf(request));
    if (operation !== 'create' && !current) await refuseMissing(app, request, target, operation);
    await authorizeInAdvance(app, request, target, operation, current?.document ?? null);
    if (current) await requireExpected(written(request), current);
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

  async function visiblePage(query: ListQuery, { where, row }: Visible): Promise<Page> {
    const asked = { ...query, where: where && query.where ? { and: [where, query.where] } : (where ?? query.where) };
    if (!row) return documents.list(asked);
    const texts: string[] = [];
    for (const text of documents.list({ ...asked, limit: -1, page: 1 }).texts) {
      if (await row(JSON.parse(text))) texts.push(text);
    }
    const start = (query.page - 1) * query.limit;
    return { texts: texts.slice(start, start + query.limit), total: texts.length };
  }
}
