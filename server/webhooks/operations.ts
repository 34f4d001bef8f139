import Joi from 'joi';
import type { AdmittedCallers } from '../openapi/callers.ts';
import { type ApiOperation, headersOfKept } from '../openapi/operation.ts';
import {
  type DescribedAnswers,
  json,
  refusalForNow,
  refusals,
  refusalsOfKept,
  replayable,
} from '../openapi/responses.ts';
import { pageParameters } from '../queries/pages.ts';
import { oneOf } from '../queries/parameters.ts';

const tag = 'system';
const caller: AdmittedCallers = { kind: 'manager' };
const name = Joi.string().required().description('The name of the webhook.');
const noWebhook: DescribedAnswers = { 404: json('There is no such webhook.', 'Error') };
const ofDelivery = Joi.object({ name, id: Joi.string().required().description('The id of the delivery.') });
const noDelivery: DescribedAnswers = {
  404: json('There is no such webhook or delivery; a delivery that has succeeded is gone.', 'Error'),
};

/** The query of the deliveries of a webhook. */
export const deliveryParameters = {
  state: oneOf(['all', 'waiting', 'parked'], 'all', 'The state of the deliveries.'),
  ...pageParameters,
};

/** `GET /api/webhooks` */
export function listWebhooksOperation(): ApiOperation {
  return {
    id: 'listWebhooks',
    tag,
    summary: 'List the webhooks',
    description:
      'Returns a page of the webhooks, in the order of the configuration, and how far each has come in the log.',
    query: pageParameters,
    answers: { 200: json('A page of webhooks.', 'Webhooks'), ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/webhooks/{name}` */
export function readWebhookOperation(): ApiOperation {
  return {
    id: 'readWebhook',
    tag,
    summary: 'Read a webhook',
    description: 'Returns a webhook of the configuration, as the list shows it.',
    params: Joi.object({ name }),
    answers: {
      200: json('The webhook, with the numbers of its deliveries.', 'Webhook'),
      ...noWebhook,
      ...refusals([400, 500]),
    },
    caller,
  };
}

/** `GET /api/webhooks/{name}/deliveries` */
export function listDeliveriesOperation(): ApiOperation {
  return {
    id: 'listDeliveries',
    tag,
    summary: 'List the deliveries of a webhook',
    description: 'Returns a page of the deliveries that have not succeeded yet, oldest first.',
    params: Joi.object({ name }),
    query: deliveryParameters,
    answers: { 200: json('A page of deliveries.', 'DeliveryList'), ...noWebhook, ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/webhooks/{name}/deliveries/{id}` */
export function readDeliveryOperation(): ApiOperation {
  return {
    id: 'readDelivery',
    tag,
    summary: 'Read a delivery',
    description: 'Returns a delivery that has not succeeded yet, as the list shows it.',
    params: ofDelivery,
    answers: { 200: json('The delivery.', 'Delivery'), ...noDelivery, ...refusals([400, 500]) },
    caller,
  };
}

/** `POST /api/webhooks/{name}/retry` */
export function retryDeliveriesOperation(): ApiOperation {
  return {
    id: 'retryDeliveries',
    tag,
    summary: 'Retry all deliveries of a webhook',
    description:
      'Makes the earliest delivery of each document that has not succeeded yet due now; parked deliveries are retried for ' +
      'another 3 days.',
    params: Joi.object({ name }),
    headers: headersOfKept,
    answers: {
      200: replayable(json('The webhook, with the numbers of its deliveries.', 'Webhook')),
      ...noWebhook,
      ...refusals([400, 500]),
      ...refusalsOfKept,
      ...refusalForNow,
    },
    caller,
  };
}

/** `POST /api/webhooks/{name}/deliveries/{id}/retry` */
export function retryDeliveryOperation(): ApiOperation {
  return {
    id: 'retryDelivery',
    tag,
    summary: 'Retry a delivery',
    description:
      'Makes a delivery due now; a parked delivery is retried for another 3 days. If the delivery waits for an earlier one ' +
      'of its document, the earlier one becomes due.',
    params: ofDelivery,
    headers: headersOfKept,
    answers: {
      200: replayable(json('The delivery, which waits.', 'Delivery')),
      ...noDelivery,
      ...refusals([400, 500]),
      ...refusalsOfKept,
      ...refusalForNow,
    },
    caller,
  };
}
