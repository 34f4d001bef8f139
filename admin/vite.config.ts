import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** A service that `npm run dev --workspace admin` passes requests to. */
const service = 'http://127.0.0.1:4000';

export default defineConfig({
  // The service writes into index.html where it is mounted; chunks find each other from where they are.
  base: './',
  plugins: [react()],
  // Each stands in a style and in a script.
  css: { modules: { generateScopedName: '[hash:base64:5]' } },
  build: {
    target: ['es2023', 'chrome120', 'firefox121', 'safari17'],
    // The policy of the service allows no data: URLs but of pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The package and the binary carry the code of others, and so their licences.
    license: { fileName: 'licences.json' },
  },
  server: { proxy: { '/api': service, '/account': service } },
});
