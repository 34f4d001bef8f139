import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { useWords } from '../words/index.ts';
import { Notice } from './page.tsx';

/** Keeps the frame when a page fails, so that the other pages can still be opened. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    return this.state.error === null ? this.props.children : <Broken />;
  }
}

function Broken() {
  const { shell, shared } = useWords();
  return (
    <div role="alert">
      <Notice icon="warning" title={shell.brokenPage}>
        <p>{shell.brokenText}</p>
        <Button variant="default" onClick={() => location.reload()}>
          {shared.tryAgain}
        </Button>
      </Notice>
    </div>
  );
}
