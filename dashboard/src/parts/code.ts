// Where code is shown: addresses of commits, ranges, requests and authors at the forge of a repository. Where a
// repository shows its code comes with the pages that name it, and is remembered by `learn`.

import type { CodeLinks } from "../shapes";

const known = new Map<string, CodeLinks>(); // by repository, as pages name it; what is configured does not change

/** Remembers what a page tells of the repositories that it names. */
export function learn(page: unknown): void {
  const code = (page as { code?: { [repository: string]: CodeLinks } } | null)?.code;
  for (const [repository, links] of Object.entries(code ?? {})) known.set(repository, links);
}

/** The pages of a repository, if anybody knows them. */
export function linksOf(repository: string): CodeLinks | undefined {
  return known.get(repository);
}

/** The address if a page may link to it: `http` or `https`, and no login. */
export function safeLink(url: string): string {
  return /^https?:\/\/[A-Za-z0-9._~%:[\]-]+(?:[/?#][\x21-\x7e]*)?$/i.test(url) ? url : "";
}

export function commitHref(links: CodeLinks | undefined, commit: string): string {
  return links && isCommit(commit) ? filled(links.commit, { commit }) : "";
}

export function rangeHref(links: CodeLinks | undefined, base: string, head: string): string {
  return links && isCommit(base) && isCommit(head) ? filled(links.compare, { base, head }) : "";
}

export function requestHref(links: CodeLinks | undefined, number: number): string {
  return links && number > 0 ? filled(links.request, { number: String(number) }) : "";
}

export function authorHref(links: CodeLinks | undefined, author: string): string {
  return links && author ? filled(links.author, { author }) : "";
}

/** The request that a commit came with; 0 when nobody knows. `CodeLinks.request_of` in Python is the same. */
export function requestOf(links: CodeLinks | undefined, pullRequest: number, subject: string): number {
  if (pullRequest || !links?.hash_is_request) return pullRequest;
  return Number(/\(#([1-9][0-9]{0,8})\)\s*$/.exec(subject)?.[1] ?? 0);
}

function isCommit(text: string): boolean {
  return /^[0-9a-f]{7,64}$/i.test(text);
}

function filled(template: string, values: { [name: string]: string }): string {
  const text = Object.entries(values).reduce(
    (written, [name, value]) => written.replaceAll(`{${name}}`, () => encoded(value)),
    template,
  );
  return safeLink(text);
}

/** As Python's `quote` with nothing left out writes it. */
function encoded(value: string): string {
  const whole = new TextDecoder().decode(new TextEncoder().encode(value)); // half of a pair cannot be encoded
  return encodeURIComponent(whole).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
