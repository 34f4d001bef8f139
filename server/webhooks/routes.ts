import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { requireKeyManager } from '../access/key-management.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { answerOnce } from '../documents/concurrency/answer-once.ts';
import { sendText } from '../documents/read/sending.ts';
import { pageText } from '../documents/read/serialize.ts';
import { noPayload } from '../http/body.ts';
import { idOf } from '../http/requests.ts';
import { pageParameters } from '../queries/pages.ts';
import { readQuery, rejectQuery } from '../queries/parameters.ts';
import {
  deliveryParameters,
  listDeliveriesOperation,
  listWebhooksOperation,
  readDeliveryOperation,
  readWebhookOperation,
  retryDeliveriesOperation,
  retryDeliveryOperation,
} from './operations.ts';

/** The routes about webhooks and their pending deliveries, for callers who manage API keys. */
export function webhooks(server: Server, app: App & Pick<RouteParts, 'webhooks'>): void {
  const path = '/api/webhooks';
  const names = app.model.webhooks.map(({ name }) => name);

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: listWebhooksOperation } },
      handler: async (request, h) => {
        await requireKeyManager({ app, request });
        const query = readQuery(pageParameters, request.query, app);
        const { webhooks, total } = await app.webhooks.page(query);
        return sendText(h, pageText(webhooks, total, query));
      },
    },
    {
      method: 'GET',
      path: `${path}/{name}`,
      options: { auth: strategy, plugins: { openApi: readWebhookOperation } },
      handler: async (request) => {
        await requireKeyManager({ app, request });
        rejectQuery(request.query);
        const name = nameOf(request);
        const webhook = await app.webhooks.find(name);
        if (webhook) return webhook;
        throw noWebhook(name);
      },
    },
    {
      method: 'GET',
      path: `${path}/{name}/deliveries`,
      options: { auth: strategy, plugins: { openApi: listDeliveriesOperation } },
      handler: async (request, h) => {
        await requireKeyManager({ app, request });
        const query = readQuery(deliveryParameters, request.query, app);
        const name = nameOf(request);
        const found = await app.webhooks.deliveries(name, query);
        if (!found) throw noWebhook(name);
        return sendText(h, pageText(found.deliveries, found.total, query));
      },
    },
    {
      method: 'GET',
      path: `${path}/{name}/deliveries/{id}`,
      options: { auth: strategy, plugins: { openApi: readDeliveryOperation } },
      handler: async (request) => {
        await requireKeyManager({ app, request });
        rejectQuery(request.query);
        const name = nameOf(request);
        if (!names.includes(name)) throw noWebhook(name);
        const id = idOf(request);
        const delivery = await app.webhooks.delivery(name, id);
        if (delivery) return delivery;
        throw noDelivery(id);
      },
    },
    {
      method: 'POST',
      path: `${path}/{name}/retry`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: retryDeliveriesOperation, takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        await requireKeyManager({ app, request });
        rejectQuery(request.query);
        const name = nameOf(request);
        return answerOnce({ app, request, h }, async () => {
          const webhook = await app.webhooks.retryAll(name);
          if (webhook) return { body: webhook };
          throw noWebhook(name);
        });
      },
    },
    {
      method: 'POST',
      path: `${path}/{name}/deliveries/{id}/retry`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: retryDeliveryOperation, takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        await requireKeyManager({ app, request });
        rejectQuery(request.query);
        const name = nameOf(request);
        if (!names.includes(name)) throw noWebhook(name);
        const id = idOf(request);
        return answerOnce({ app, request, h }, async () => {
          const delivery = await app.webhooks.retry(name, id);
          if (delivery) return { body: delivery };
          throw noDelivery(id);
        });
      },
    },
  ]);

  function noWebhook(name: string): DomainError {
    return new DomainError('not_found', `there is no webhook ${show(name)}${didYouMean(name, names)}`);
  }
}

function noDelivery(id: string): DomainError {
  return new DomainError('not_found', `there is no delivery ${show(id)} that is left to be made`);
}

function nameOf({ params }: Request): string {
  return String(params.name);
}
