import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine';
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { useEffect, useRef, useState } from 'react';

/** The edge of an item at which another item would be dropped. */
export type Edge = 'top' | 'bottom';

/** Lets the user drag an item to another place in its list; not if `move` is null. */
export function useSorting(listKey: string, index: number, move: ((from: number, to: number) => void) | null) {
  const box = useRef<HTMLLIElement>(null);
  const handle = useRef<HTMLSpanElement>(null);
  const [edge, setEdge] = useState<Edge>();
  const [isDragged, setDragged] = useState(false);
  // `move` is a new function with each change of the list, but the item is registered once.
  const drop = useRef(move);
  drop.current = move;
  const canMove = move !== null;
  useEffect(() => {
    const [element, dragHandle] = [box.current, handle.current];
    if (!canMove || element === null || dragHandle === null) return;
    const isOurs = (data: Record<string | symbol, unknown>) => data.listKey === listKey;
    const edgeAt = (clientY: number): Edge => {
      const { top, height } = element.getBoundingClientRect();
      return clientY < top + height / 2 ? 'top' : 'bottom';
    };
    return combine(
      draggable({
        element,
        dragHandle,
        getInitialData: () => ({ listKey, index }),
        onDragStart: () => setDragged(true),
        onDrop: () => setDragged(false),
      }),
      dropTargetForElements({
        element,
        canDrop: ({ source }) => isOurs(source.data),
        onDrag: ({ source, location }) => {
          setEdge(source.data.index === index ? undefined : edgeAt(location.current.input.clientY));
        },
        onDragLeave: () => setEdge(undefined),
        onDrop: ({ source, location }) => {
          setEdge(undefined);
          const from = Number(source.data.index);
          const before = edgeAt(location.current.input.clientY) === 'top' ? index : index + 1;
          drop.current?.(from, before > from ? before - 1 : before);
        },
      }),
    );
  }, [listKey, index, canMove]);
  return { box, handle, edge, isDragged };
}
