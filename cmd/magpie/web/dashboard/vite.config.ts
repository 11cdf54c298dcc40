import { compileMessage } from '@lingui/message-utils/compileMessage';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// The target of `npm run dev`, for example of `magpie dev`.
const service = process.env.MAGPIE_URL ?? 'http://127.0.0.1:8080';

// messages compiles the messages in ICU MessageFormat, so that the page needs no compiler.
const messages: Plugin = {
  name: 'messages',
  enforce: 'pre',
  transform(code, id) {
    if (!/\/src\/messages\/[^/]+\.json$/.test(id)) return null;
    const compiled = Object.fromEntries(Object.entries<string>(JSON.parse(code)).map(([key, text]) => [key, compileMessage(text)]));
    return { code: JSON.stringify(compiled), map: null };
  },
};

export default defineConfig({
  plugins: [messages, react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the content security policy allows no data: scripts
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: Object.fromEntries(
      ['/graphql', '/api', '/v1', '/widget.js', '/magpie.js', '/openapi.json'].map((path) => [
        path,
        { target: service, ws: path === '/graphql', changeOrigin: true, rewriteWsOrigin: true },
      ]),
    ),
  },
});
