import { defineConfig } from "vitest/config";

// What is tested here is pure and needs no browser; tests/pages of the project opens the built pages in a real one.
export default defineConfig({ test: { include: ["tests/**/*.test.ts"], environment: "node" } });
