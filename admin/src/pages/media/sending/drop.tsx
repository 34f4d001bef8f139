import { type DragEvent, type ReactNode, useEffect, useRef, useState } from 'react';

type Props = {
  children: (drop: { isOver: boolean }) => ReactNode;
  className?: string | undefined;
  isOff?: boolean;
  onFiles: (files: File[]) => void;
};

/** A place where files can be dropped. A file that falls beside it does not take the place of the page. */
export function Drop({ children, className, isOff = false, onFiles }: Props) {
  const [isOver, setOver] = useState(false);
  const depth = useRef(0);
  useEffect(keepPage, []);
  const hear = (act: (event: DragEvent) => void) => (event: DragEvent) => {
    if (isOff || !event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    act(event);
  };
  const step = (by: number) => {
    depth.current += by;
    setOver(depth.current > 0);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what can be dropped can be chosen by a button as well
    <div
      className={className}
      onDragEnter={hear(() => step(1))}
      onDragLeave={hear(() => step(-1))}
      onDragOver={hear((event) => {
        event.dataTransfer.dropEffect = 'copy';
      })}
      onDrop={hear((event) => {
        event.stopPropagation();
        step(-depth.current);
        onFiles(filesOf(event.dataTransfer));
      })}
    >
      {children({ isOver })}
    </div>
  );
}

/** While there are places for files, the browser does not open one that falls elsewhere. */
function keepPage(): () => void {
  const refuse = (event: globalThis.DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files') || event.defaultPrevented) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  };
  addEventListener('dragover', refuse);
  addEventListener('drop', refuse);
  return () => {
    removeEventListener('dragover', refuse);
    removeEventListener('drop', refuse);
  };
}

/** The files of a drop; folders are left out, for they cannot be sent. */
function filesOf(transfer: Pick<DataTransfer, 'items' | 'files'>): File[] {
  const items = [...transfer.items].filter((item) => item.kind === 'file');
  if (items.length === 0) return [...transfer.files];
  return items
    .filter((item) => item.webkitGetAsEntry?.()?.isDirectory !== true)
    .map((item) => item.getAsFile())
    .filter((file) => file !== null);
}
