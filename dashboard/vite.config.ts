import { defineConfig } from "vite";

// One classic script and one style sheet beside index.html, all by relative names: the same files work behind a server,
// in a folder of any web space, and opened from a disk, where browsers load no modules.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/benchwright/pages/dashboard/bundle",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        format: "iife",
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
      },
    },
  },
  plugins: [
    {
      name: "classic-script",
      transformIndexHtml: {
        order: "post",
        handler: (html) =>
          html.replace(/<script type="module" crossorigin src/, "<script defer src").replace(/ crossorigin/g, ""),
      },
    },
  ],
});
