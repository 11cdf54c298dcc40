import { createTheme } from '@mantine/core';

// Contrast of every colour is checked by the accessibility tests, in light and dark.
export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'md',
  fontFamily: 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  // Not by Modal.extend and the like, which would load every component named here at the start.
  components: {
    // Without it, a menu would contain an element that is no item of a menu.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Loader: { defaultProps: { role: 'status' } },
    Modal: { defaultProps: { centered: true, overlayProps: { blur: 2 } } },
    NavLink: { styles: { root: { borderRadius: 'var(--mantine-radius-md)' } } },
    Paper: { defaultProps: { withBorder: true } },
    Table: { defaultProps: { verticalSpacing: 'xs' } },
    Tooltip: { defaultProps: { withArrow: true, events: { hover: true, focus: true, touch: true } } },
  },
});
