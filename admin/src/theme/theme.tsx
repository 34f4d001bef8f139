import { createTheme, localStorageColorSchemeManager, MantineProvider, mergeThemeOverrides } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { storageName } from '../service/place.ts';
import { useWords } from '../words/index.ts';
import './mantine.ts';
import './tokens.css';
import './base.css';

/** The head of a dialog is not the banner of the page. */
const attributes = { header: { role: 'presentation' } };

/** Colours stand in tokens.css: a policy without inline styles lets no variables of a theme through. */
const theme = createTheme({
  cursorType: 'pointer',
  defaultRadius: 'sm',
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { lockScroll: false, centered: true, attributes } },
    Checkbox: { defaultProps: { radius: 4 } },
    Badge: { defaultProps: { tt: 'none', fw: 600 } },
    // In its place, a menu is in the landmark of its button, and next to it in the order of reading.
    Menu: { defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } },
    Drawer: { defaultProps: { lockScroll: false, position: 'right', attributes } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
});

/** The theme, with the words that its parts say by themselves. */
function useTheme() {
  const { shared } = useWords();
  return useMemo(
    () =>
      mergeThemeOverrides(theme, {
        components: { Notification: { defaultProps: { closeButtonProps: { 'aria-label': shared.close } } } },
      }),
    [shared.close],
  );
}

const schemes = localStorageColorSchemeManager({ key: storageName('theme') });

/** The look of the application. */
export function ThemeProvider({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={useTheme()}
      colorSchemeManager={schemes}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      {children}
    </MantineProvider>
  );
}
