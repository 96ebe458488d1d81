// Where pages get their data: from the server they came from, or from files that lie beside a published site.
// A file calls benchwright_site.put(name, data): scripts load everywhere, also from a disk, where fetch does not.

import { useEffect, useState } from "preact/hooks";

export type Query = { [name: string]: string | undefined };

export interface Answer<T> {
  data?: T;
  error?: string;
  waiting: boolean;
}

interface Site {
  put(name: string, data: unknown): void;
}

declare global {
  var benchwright_site: Site | undefined;
}

/** Whether this is a published site: nothing can be changed, nothing is live. */
export const isStatic = globalThis.benchwright_site !== undefined;

const here = new Map<string, unknown>();
if (globalThis.benchwright_site) globalThis.benchwright_site.put = (name, data) => void here.set(name, data);

/** What the path gives; rejects with a sentence a person can read. */
export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return (isStatic ? await fromFile(path, query) : await fromServer("GET", address(path, query))) as T;
}

/** Sends a change; rejects with a sentence a person can read. */
export async function send<T>(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  return (await fromServer(method, address(path, {}), body)) as T;
}

/** The data of a path while a page shows it; asked again when path, query or `again` change. */
export function useData<T>(path: string | null, query: Query = {}, again = 0): Answer<T> {
  const key = path === null ? "" : address(path, query);
  const [answer, setAnswer] = useState<Answer<T> & { key: string }>({ waiting: true, key: "" });
  useEffect(() => {
    if (path === null) return;
    let wanted = true;
    setAnswer((old) => (old.key === key ? { ...old, waiting: true } : { waiting: true, key }));
    get<T>(path, query).then(
      (data) => wanted && setAnswer({ data, waiting: false, key }),
      (error: Error) => wanted && setAnswer({ error: error.message, waiting: false, key }),
    );
    return () => {
      wanted = false;
    };
  }, [key, again]);
  return answer.key === key ? answer : { waiting: path !== null };
}

/** Where the server answers; relative, so that it may live below any path. */
export function address(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

async function fromServer(method: string, where: string, body?: unknown): Promise<unknown> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { Accept: "application/json" } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(where, init);
  } catch {
    throw new Error("The server cannot be reached.");
  }
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : null;
  if (response.status === 401) dispatchEvent(new Event("benchwright-token"));
  throw new Error(message(text) ?? `The server answered ${response.status}.`);
}

function message(text: string): string | undefined {
  try {
    const { error, remedy } = JSON.parse(text) as { error?: string; remedy?: string };
    return error === undefined ? undefined : remedy ? `${error} (${remedy})` : error;
  } catch {
    return undefined;
  }
}

// ---- a published site ----

async function fromFile(path: string, query: Query): Promise<unknown> {
  const plain = fileName(path, {});
  const full = fileName(path, query);
  for (const name of full === plain ? [plain] : [full, plain]) {
    if (!here.has(name)) await loaded(name);
    if (here.has(name)) return here.get(name);
  }
  throw new Error("This was not published with the site.");
}

/** The name under which a site keeps what a path gives; `publishing.file_name` in Python is the same. */
export function fileName(path: string, query: Query): string {
  const pairs = Object.entries(query).filter(([, value]) => value);
  const words = pairs.map(([name, value]) => `${name}=${value}`).sort();
  return [...path.split("/").map((part) => safe(decodeURIComponent(part))), ...words.map(safe)].join(".");
}

function safe(text: string): string {
  let written = "";
  for (const byte of new TextEncoder().encode(text)) {
    const sign = String.fromCharCode(byte);
    written += /[A-Za-z0-9-]/.test(sign) ? sign : `_${byte.toString(16).padStart(2, "0")}`;
  }
  return written;
}

function loaded(name: string): Promise<void> {
  return new Promise((done) => {
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = script.onerror = () => {
      script.remove();
      done();
    };
    document.head.append(script);
  });
}
