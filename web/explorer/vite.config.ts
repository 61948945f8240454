import { defineConfig } from 'vite'

// The server embeds the files by name, so the names are fixed; it tells browsers with an `ETag`
// when they are new.
const lineAtEnd = {
  name: 'line-at-end',
  generateBundle(_: unknown, files: Record<string, { type: string; code?: string }>) {
    for (const file of Object.values(files)) if (file.code !== undefined && !file.code.endsWith('\n')) file.code += '\n'
  },
}

export default defineConfig({
  plugins: [lineAtEnd],
  base: '/explorer/',
  build: {
    outDir: '../../crates/jungle-server/assets/explorer',
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'explorer.js',
        assetFileNames: 'explorer[extname]',
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: { '/api': process.env['JUNGLE'] ?? 'http://127.0.0.1:7070' } },
  test: { include: ['test/**/*.test.ts'] },
} as Parameters<typeof defineConfig>[0])
