import '@mantine/core/styles.css';
import './app/style.css';
import { MantineProvider } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { shellRoute } from './app/root';
import { router } from './app/router';
import { theme } from './app/theme';
import { loadMessages } from './i18n';
import { onSession } from './session/session';

// Browsers hide the attribute, and keep the property.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

// With this the lock of scrolling behind dialogs marks its style, as the content security policy demands.
Object.assign(globalThis, { __webpack_nonce__: nonce });

// Who comes back after a session that has expired goes on where it was.
onSession((signedIn, expired) => {
  if (signedIn) return;
  const { href } = router.state.location;
  const isInside = router.state.matches.some(({ routeId }) => routeId === shellRoute.id);
  void router.navigate({ to: '/sign-in', search: expired && isInside && href !== '/' ? { next: href } : {} });
});

function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <RouterProvider router={router} />
    </MantineProvider>
  );
}

const root = createRoot(document.getElementById('root') as HTMLElement);
void loadMessages('common').then(() =>
  root.render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
