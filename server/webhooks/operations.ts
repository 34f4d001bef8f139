import Joi from 'joi';
import type { Caller } from '../openapi/callers.ts';
import type { Operation } from '../openapi/operation.ts';
import { type Answers, json, refusals } from '../openapi/responses.ts';
import { count, oneOf } from '../queries/parameters.ts';

const tag = 'system';
const caller: Caller = { kind: 'manager' };
const name = Joi.string().required().description('The name of the webhook.');
const noWebhook: Answers = { 404: json('There is no such webhook.', 'Error') };

/** The query of the deliveries of a webhook. */
export const deliveryParameters = {
  state: oneOf(['all', 'waiting', 'parked'], 'all', 'Which deliveries.'),
  limit: count({ least: 1, most: 100, otherwise: 10 }, 'Deliveries per page'),
  page: count({ least: 1, otherwise: 1 }, 'The page, from 1.'),
};

/** `GET /api/webhooks` */
export function listWebhooksOperation(): Operation {
  return {
    id: 'listWebhooks',
    tag,
    summary: 'List the webhooks',
    description: 'Lists the webhooks of the configuration, and how far each has come.',
    answers: { 200: json('The webhooks.', 'Webhooks'), ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/webhooks/{name}/deliveries` */
export function listDeliveriesOperation(): Operation {
  return {
    id: 'listDeliveries',
    tag,
    summary: 'List the deliveries of a webhook',
    description: 'Lists the deliveries that did not succeed yet, oldest first, as pages.',
    params: Joi.object({ name }),
    query: deliveryParameters,
    answers: { 200: json('A page of them.', 'DeliveryList'), ...noWebhook, ...refusals([400, 500]) },
    caller,
  };
}

/** `POST /api/webhooks/{name}/retry` */
export function retryDeliveriesOperation(): Operation {
  return {
    id: 'retryDeliveries',
    tag,
    summary: 'Make all deliveries of a webhook again',
    description:
      'Makes all deliveries that did not succeed yet due now, of each document the earliest; parked ones are tried for another 3 days.',
    params: Joi.object({ name }),
    answers: { 200: json('The webhook, with its deliveries.', 'Webhook'), ...noWebhook, ...refusals([400, 500]) },
    caller,
  };
}

/** `POST /api/webhooks/{name}/deliveries/{id}/retry` */
export function retryDeliveryOperation(): Operation {
  return {
    id: 'retryDelivery',
    tag,
    summary: 'Make a delivery again',
    description:
      'Makes a delivery due now, for another 3 days if it was parked. One that waits for an earlier one of its document makes that one due.',
    params: Joi.object({ name, id: Joi.string().required().description('The id of the delivery.') }),
    answers: {
      200: json('The delivery, which waits.', 'Delivery'),
      404: json('There is no such webhook, or no such delivery: it has succeeded.', 'Error'),
      ...refusals([400, 500]),
    },
    caller,
  };
}
