import { fieldAt } from '../../../schema/fields.ts';
import { viewOf } from '../../../schema/model.ts';
import { titleField, titleOf } from '../../../schema/titles.ts';
import { client } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { keys, useRead } from '../../../service/queries.ts';

/** The most documents that a picker shows. */
const mostFound = 20;

/** The documents of a collection whose title holds a text, at most 20. */
export function useFound(slug: string, text: string, isEnabled: boolean) {
  const target = useModel().collections.get(slug);
  const title = target ? titleField(target) : 'id';
  const canFilter = target !== undefined && (title === 'filename' || fieldAt(target.fields, title) !== undefined);
  const where = canFilter && text.trim() !== '' ? { where: { [title]: { like: text.trim() } } } : {};
  const query = {
    ...where,
    select: [title],
    limit: mostFound,
    count: 'none' as const,
    ...(target && viewOf(target)),
    ...(canFilter ? { sort: title } : {}),
  };
  const { data, isFetching } = useRead(
    keys.list(slug, query),
    (reading) => client.collection(slug).find({ ...query, ...reading }),
    { enabled: isEnabled && target?.access.read === true, keep: true },
  );
  const found = data?.docs.map((document) => ({
    value: document.id,
    label: target ? titleOf(target, document) : document.id,
  }));
  return { found: found ?? [], isFetching };
}
