import { pageLimits } from '../queries/limits.ts';
import { type ApiSchema, schemaRef } from './fields.ts';

declare const value: unique symbol;

/** A schema of values of a type: from a shape come the OpenAPI description of an answer and the type of its JSON. */
export type Shape<T> = ApiSchema & { readonly [value]?: T };

/** The values of a shape, as JSON. */
export type ValueOf<S> = S extends { readonly [value]?: infer T } ? T : never;

/** The values of an object of these members, of which the `Needed` ones are always present. */
export type Members<P, Needed extends keyof P = keyof P> = { [Name in Needed]: ValueOf<P[Name]> } & {
  [Name in Exclude<keyof P, Needed>]?: ValueOf<P[Name]>;
};

type Properties = Record<string, Shape<unknown>>;

/** A text. */
export const text: Shape<string> = { type: 'string' };

/** A time, as an answer has it. */
export const time: Shape<string> = { type: 'string', format: 'date-time' };

/** A UUID. */
export const uuid: Shape<string> = { type: 'string', format: 'uuid' };

/** Yes or no. */
export const flag: Shape<boolean> = { type: 'boolean' };

/** A whole number. */
export const whole: Shape<number> = { type: 'integer' };

/** A number from 0, such as of documents. */
export const count: Shape<number> = { type: 'integer', minimum: 0 };

/** A position in the log, or a version in a stream: from 1. */
export const place: Shape<number> = { type: 'integer', minimum: 1 };

/** A member that is present only if it is true. */
export const isTrue: Shape<true> = { type: 'boolean', enum: [true] };

/** A member that is always false. */
export const isFalse: Shape<false> = { type: 'boolean', enum: [false] };

/** null. */
export const nothing: Shape<null> = { type: 'string', nullable: true, enum: [null] };

/** Any JSON. */
export const anything: Shape<unknown> = {};

/** Any JSON object. */
export const anyObject: Shape<Record<string, unknown>> = { type: 'object' };

/** An object with these members and no other. */
export function closed<P extends Record<string, Shape<unknown>>, Needed extends keyof P & string = keyof P & string>(
  properties: P,
  required: readonly Needed[] = namesOf(properties) as Needed[],
): Shape<Members<P, Needed>> {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required: [...required] } : {}),
    additionalProperties: false,
  };
}

/** An object with these members, of which the `others` may be missing; a schema that refers to it may add members. */
export function open<P extends Properties, Q extends Properties = Record<never, never>>(
  properties: P,
  others?: Q,
): Shape<Members<P> & Partial<Members<Q>>> {
  return { type: 'object', properties: { ...properties, ...others }, required: namesOf(properties) };
}

/** An object with the members of both. */
export function both<A, B>(one: Shape<A>, other: Shape<B>): Shape<A & B> {
  return { allOf: [one, other] };
}

/** A schema of values of a type that is declared elsewhere. */
export function ofType<T>(schema: ApiSchema): Shape<T> {
  return schema;
}

/** The names of the members of an object. */
export function namesOf<T extends object>(members: T): (keyof T & string)[] {
  return Object.keys(members) as (keyof T & string)[];
}

/** One of these words. */
export function choice<const Word extends string>(words: readonly Word[]): Shape<Word> {
  return { type: 'string', enum: [...words] };
}

/** A value of one of these shapes. */
export function either<const S extends readonly Shape<unknown>[]>(...shapes: S): Shape<ValueOf<S[number]>> {
  return { oneOf: [...shapes] };
}

/** A list of these. */
export function listOf<T>(items: Shape<T>): Shape<readonly T[]> {
  return { type: 'array', items };
}

/** An object of these by any names. */
export function mapOf<T>(items: Shape<T>): Shape<Record<string, T>> {
  return { type: 'object', additionalProperties: items };
}

/** A page of a list (contract, section 2.5). */
export function pageOf<T>(docs: Shape<T>) {
  return closed(membersOfPage(docs));
}

/** The members of a page, for an answer that has others too. */
export function membersOfPage<T>(docs: Shape<T>) {
  return {
    docs: listOf(docs),
    total: count,
    limit: withKeywords(place, { maximum: pageLimits.most }),
    page: place,
    totalPages: count,
    hasNextPage: flag,
    hasPrevPage: flag,
    nextPage: orNull(place),
    prevPage: orNull(place),
  };
}

/** This, or null. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return { ...shape, nullable: true };
}

/** This, with more keywords, which narrow its values. */
export function withKeywords<T>(shape: Shape<T>, keywords: ApiSchema): Shape<T> {
  return { ...shape, ...keywords };
}

/** This, with a description. */
export function described<T>(shape: Shape<T>, description: string): Shape<T> {
  return { ...shape, description };
}

/** A reference to a schema of the document, which has the name and the shape. */
export function refTo<T>(name: string, _shape: Shape<T>): Shape<T> {
  return schemaRef(name);
}

/** Where the next page of a list begins: the value of its parameter `next`. */
export const nextNumber: Shape<number | null> = described(
  orNull(count),
  'The `next` of the next page; null at the end.',
);
