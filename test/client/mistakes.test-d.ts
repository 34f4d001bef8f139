import {
  createClient,
  type GroupPathOf,
  type NumberPathOf,
  type OrderedPathOf,
  type UniquePathOf,
} from '../../client/index.ts';
import { type Config, defineConfig } from '../../config/define.ts';
import type { Annals } from './rich.types.ts';

// The compiler tests the calls that the service answers with 400 whatever its data are: each refused call is beside an
// accepted one. Nothing here is ever run.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;

const shop = defineConfig({
  collections: [
    {
      slug: 'products',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'status', type: 'select', options: ['new', 'sold'] },
        { name: 'price', type: 'number', required: true },
        { name: 'isListed', type: 'boolean' },
        { name: 'since', type: 'date' },
        { name: 'opens', type: 'time' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'extra', type: 'json' },
        { name: 'maker', type: 'relationship', relationTo: 'makers' },
        { name: 'shops', type: 'relationship', relationTo: 'makers', hasMany: true },
        {
          name: 'box',
          type: 'object',
          fields: [
            { name: 'label', type: 'text', unique: true },
            { name: 'weight', type: 'number' },
          ],
        },
        {
          name: 'sales',
          type: 'array',
          fields: [
            { name: 'day', type: 'date' },
            { name: 'amount', type: 'number' },
          ],
        },
      ],
    },
    {
      slug: 'makers',
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'founded', type: 'date' },
        { name: 'size', type: 'number' },
        { name: 'parent', type: 'relationship', relationTo: 'makers' },
      ],
    },
    { slug: 'staff', auth: true, fields: [{ name: 'name', type: 'text' }] },
  ],
});
type Shop = typeof shop;

const client = createClient<Shop>({ baseUrl: 'https://cms.example.org' });
const [products, staff] = [client.collection('products'), client.collection('staff')];
const written = createClient<Annals>({ baseUrl: 'https://cms.example.org' }).collection('posts');
const any = createClient({ baseUrl: 'https://cms.example.org' }).collection('products');

export const upserts = () => [
  products.upsertMany('code', [{ code: 'x', title: 'y' }, { code: 'z' }]),
  products.upsertMany('box.label', [{ box: { label: 'x', weight: 3 }, title: 'y' }]),
  staff.upsertMany('email', [{ email: 'a@example.org', name: 'Grace' }]),
  written.upsertMany('slug', [{ slug: 'x', title: 'y' }]),
  any.upsertMany('title', [{ a: 1 }]),
  // @ts-expect-error the field is not unique
  products.upsertMany('title', [{ title: 'x' }]),
  // @ts-expect-error nor is this one
  products.upsertMany('id', []),
  // @ts-expect-error nor is this one, in written types
  written.upsertMany('title', [{ title: 'x' }]),
  // @ts-expect-error a document without the field
  products.upsertMany('code', [{ code: 'x' }, { title: 'y' }]),
  // @ts-expect-error a document without the object of the field
  products.upsertMany('box.label', [{ title: 'y' }]),
  // @ts-expect-error a document without the field in the object
  products.upsertMany('box.label', [{ box: { weight: 3 } }]),
  // @ts-expect-error documents are not found by null
  products.upsertMany('code', [{ code: null }]),
  // @ts-expect-error a document without the field, in written types
  written.upsertMany('slug', [{ title: 'x' }]),
  // @ts-expect-error no such field
  products.upsertMany('code', [{ code: 'x', titel: 'y' }]),
  // @ts-expect-error passwords are not set for many at once
  staff.upsertMany('email', [{ email: 'a@example.org', password: 'x' }]),
];

export const figures = () => [
  products.aggregate({ sum: ['price', 'box.weight'], avg: ['maker.size', 'maker.parent.size'] }),
  products.aggregate({ min: ['price', 'since', 'opens', 'createdAt'], max: ['maker.founded'] }),
  written.aggregate({ sum: ['views'], min: ['day', 'hour', 'cover.filesize'] }),
  any.aggregate({ sum: ['title'] }),
  // @ts-expect-error a text has no sum
  products.aggregate({ sum: ['title'] }),
  // @ts-expect-error a text of a related document has no sum
  products.aggregate({ sum: ['maker.name'] }),
  // @ts-expect-error a date has no mean
  products.aggregate({ avg: ['since'] }),
  // @ts-expect-error a text has no minimum
  products.aggregate({ min: ['title'] }),
  // @ts-expect-error an id has no maximum
  products.aggregate({ max: ['id'] }),
  // @ts-expect-error a list has no single value
  products.aggregate({ sum: ['sales.amount'] }),
  // @ts-expect-error nor has a list of documents
  products.aggregate({ sum: ['shops.size'] }),
  // @ts-expect-error a text has no sum, in written types
  written.aggregate({ sum: ['title'] }),
];

export const groups = () => [
  products.aggregate({ groupBy: ['status', 'since.month', 'maker.founded.year'] }),
  products.aggregate({ groupBy: ['tags', 'sales.day', 'sales.day.day'] }),
  products.aggregate({ groupBy: ['isListed', 'shops.createdAt.year', 'maker.parent.name'] }),
  products.distinct('shops.name'),
  written.aggregate({ groupBy: ['status', 'at.day', 'author.createdAt.month'] }),
  any.aggregate({ groupBy: ['title.month'] }),
  any.distinct('box'),
  // @ts-expect-error a text has no months
  products.aggregate({ groupBy: ['title.month'] }),
  // @ts-expect-error nor has a time of day
  products.aggregate({ groupBy: ['opens.month'] }),
  // @ts-expect-error nor has a text of a related document
  products.aggregate({ groupBy: ['maker.name.month'] }),
  // @ts-expect-error no such part
  products.aggregate({ groupBy: ['since.week'] }),
  // @ts-expect-error an object has no value
  products.aggregate({ groupBy: ['box'] }),
  // @ts-expect-error an object has no value
  products.distinct('box'),
  // @ts-expect-error nor have a list of objects and JSON
  products.distinct('sales'),
  // @ts-expect-error nor have a list of objects and JSON
  products.distinct('extra'),
  // @ts-expect-error an object has no value, in written types
  written.distinct('seo'),
  // @ts-expect-error a text has no months, in written types
  written.distinct('title.month'),
];

const paths: ('price' | 'box.weight')[] = [];
export const orders = () => [
  products.aggregate({ groupBy: ['status'], sum: ['price'], sort: '-sum.price' }),
  products.aggregate({
    groupBy: ['status', 'since.year'],
    max: ['since'],
    sort: ['-since.year', 'max.since', '-count'],
  }),
  products.aggregate({ sum: paths, avg: paths, sort: ['sum.box.weight', '-avg.price'] }),
  products.aggregate({ sort: 'count' }),
  written.aggregate({ groupBy: ['status'], sum: ['views'], sort: '-sum.views' }),
  any.aggregate({ groupBy: ['status'], sort: '-sum.n' }),
  // @ts-expect-error there is no such sum
  products.aggregate({ groupBy: ['status'], sort: '-sum.price' }),
  // @ts-expect-error there is a sum, but no mean
  products.aggregate({ groupBy: ['status'], sum: ['price'], sort: '-avg.price' }),
  // @ts-expect-error there is a sum, but of another field
  products.aggregate({ groupBy: ['status'], sum: ['price'], sort: ['-sum.box.weight'] }),
  // @ts-expect-error not grouped by this field
  products.aggregate({ groupBy: ['status'], sort: 'title' }),
  // @ts-expect-error not grouped at all
  products.aggregate({ sort: '-status' }),
  // @ts-expect-error there is no such sum, in written types
  written.aggregate({ groupBy: ['status'], sort: '-sum.views' }),
];

export const searches = () => [
  products.find({ q: 'x', asOf: undefined }),
  products.find({ asOf: 5, q: undefined, select: ['title'] }),
  products.findOne({ q: 'x', depth: 1 }),
  products.findAll({ asOf: new Date() }),
  products.count({ q: 'x' }),
  products.count({ asOf: 5 }),
  any.find({ q: 'x', asOf: 5 }),
  // @ts-expect-error the documents of a past moment cannot be searched
  products.find({ q: 'x', asOf: 5 }),
  // @ts-expect-error nor by cursor
  products.find({ q: 'x', asOf: 5, after: '' }),
  // @ts-expect-error nor uncounted
  products.find({ q: 'x', asOf: 5, count: 'none' }),
  // @ts-expect-error nor one by one
  products.findOne({ q: 'x', asOf: 5 }),
  // @ts-expect-error nor all of them
  products.findAll({ q: 'x', asOf: 5 }),
  // @ts-expect-error nor counted
  products.count({ q: 'x', asOf: 5 }),
];

type Day<Path extends string> = Path | `${Path}.${'year' | 'month' | 'day'}`;
type OwnGroups = 'id' | 'name' | 'parent' | 'size' | Day<'founded' | 'createdAt' | 'updatedAt'>;
export type Paths = [
  Is<Equal<UniquePathOf<Shop, 'products'>, 'code' | 'box.label'>>,
  Is<Equal<UniquePathOf<Shop, 'makers'>, never>>,
  Is<Equal<UniquePathOf<Shop, 'staff'>, 'email'>>,
  Is<Equal<NumberPathOf<Shop, 'makers'>, 'size' | 'parent.size' | `parent.parent.${string}`>>,
  Is<Equal<GroupPathOf<Shop, 'makers'>, OwnGroups | `parent.${OwnGroups}` | `parent.parent.${string}`>>,
];

// Without the literal types of a configuration, or of some of its fields, every path is allowed.
const common: Config['collections'] = [];
const partly = defineConfig({
  collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }, ...(common[0]?.fields ?? [])] }],
});
export type Loose = [
  Is<Equal<UniquePathOf<Config, 'posts'>, string>>,
  Is<Equal<NumberPathOf<Config, 'posts'>, string>>,
  Is<Equal<GroupPathOf<Config, 'posts'>, string>>,
  Is<Equal<UniquePathOf<typeof partly, 'posts'>, string>>,
  Is<Equal<NumberPathOf<typeof partly, 'posts'>, string>>,
  Is<Equal<OrderedPathOf<typeof partly, 'posts'>, string>>,
];
const some = createClient<typeof partly>({ baseUrl: 'https://cms.example.org' }).collection('posts');
export const loose = () => [
  some.upsertMany('slug', [{ slug: 'x' }]),
  some.aggregate({ groupBy: ['day.month'], sum: ['views'], sort: '-sum.views,count' }),
];
