import { type DragEvent, type ReactNode, useEffect, useRef, useState } from 'react';

type Props = {
  children: (drop: { isOver: boolean }) => ReactNode;
  className?: string | undefined;
  isOff?: boolean;
  onFiles: (files: File[]) => void;
};

/** An area for dropping files. A file that is dropped beside it does not replace the page. */
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
    // biome-ignore lint/a11y/noStaticElementInteractions: a button chooses the same files as a drop
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

/** While the page has areas for files, keeps the browser from opening a file that is dropped elsewhere. */
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

/** The files of a drop, without folders, which cannot be sent. */
function filesOf(transfer: Pick<DataTransfer, 'items' | 'files'>): File[] {
  const items = [...transfer.items].filter((item) => item.kind === 'file');
  if (items.length === 0) return [...transfer.files];
  return items
    .filter((item) => item.webkitGetAsEntry?.()?.isDirectory !== true)
    .map((item) => item.getAsFile())
    .filter((file) => file !== null);
}
