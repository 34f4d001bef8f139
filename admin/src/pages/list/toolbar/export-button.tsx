import { ActionIcon, Button, Modal, Progress } from '@mantine/core';
import { useRef, useState } from 'react';
import dialogStyles from '../../../parts/dialog.module.css';
import { tell } from '../../../parts/toast.ts';
import { useFormatters } from '../../../parts/use-texts.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { client } from '../../../service/client.ts';
import { messageOf } from '../../../service/queries.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import styles from '../bulk/bulk.module.css';
import { type ListState, requestOf } from '../view/use-list.ts';
import { byteOrderMark, cellOf, csvRow, mostRows } from './csv.ts';

/** Exports the matching documents as a file for spreadsheets. */
export function ExportButton({ state, total }: { state: ListState; total: number | null }) {
  const { list, shared } = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={list.exportCsv}
        title={list.exportCsv}
        disabled={total === null || total === 0}
        onClick={() => setOpen(true)}
      >
        <Icon name="download" size={16} />
      </ActionIcon>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={list.exportCsv}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        <Export state={state} total={total ?? 0} close={() => setOpen(false)} />
      </Modal>
    </>
  );
}

type ExportProps = { state: ListState; total: number; close: () => void };

function Export({ state, total, close }: ExportProps) {
  const { list, shared } = useWords();
  const language = useLanguage();
  const { done, problem, isRunning, start, stop } = useExport(state, close);
  const shown = (count: number) => count.toLocaleString(language);
  const end = Math.min(total, mostRows);
  return (
    <div className={dialogStyles.body}>
      <p>{list.exportText(shown(total))}</p>
      {isRunning && (
        <>
          <Progress value={(done / Math.max(end, 1)) * 100} aria-label={list.exportCsv} />
          <p role="status" className={styles.soft}>
            {list.exportRunning(shown(done), shown(end))}
          </p>
        </>
      )}
      <p role="alert" className={styles.problem}>
        {problem}
      </p>
      <div className={dialogStyles.buttons}>
        <Button variant="default" onClick={isRunning ? stop : close}>
          {shared.cancel}
        </Button>
        <Button disabled={isRunning} onClick={() => void start()}>
          {list.exportStart}
        </Button>
      </div>
    </div>
  );
}

/** Reads all matching documents, page by page, and downloads them as a file. */
function useExport(state: ListState, close: () => void) {
  const { list } = useWords();
  const language = useLanguage();
  const formatters = useFormatters();
  const asOf = useAsOf();
  const [done, setDone] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const start = async () => {
    const control = new AbortController();
    running.current = control;
    setRunning(true);
    setProblem(null);
    setDone(0);
    try {
      const query = { ...requestOf(state), ...(asOf === null ? {} : { asOf }), signal: control.signal };
      const lines = [byteOrderMark, csvRow(['id', ...state.columns.map(({ label }) => label)])];
      for await (const document of client.collection(state.collection.slug).findAll(query)) {
        lines.push(csvRow([document.id, ...state.columns.map((column) => cellOf(document, column, formatters))]));
        const count = lines.length - 2;
        if (count % 500 === 0) setDone(count);
        if (count >= mostRows) break;
      }
      save(new Blob(lines, { type: 'text/csv;charset=utf-8' }), `${state.collection.slug}.csv`);
      tell(list.exportDone((lines.length - 2).toLocaleString(language)));
      close();
    } catch (error) {
      if (!control.signal.aborted) setProblem(messageOf(error));
    } finally {
      setRunning(false);
    }
  };
  return { done, problem, isRunning, start, stop: () => running.current?.abort() };
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
