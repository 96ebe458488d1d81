// Where pages get their data: from the server they came from, or from files that lie beside a published site.
// A file calls benchwright_site.put(name, data): scripts load everywhere, also from a disk, where fetch does not.

import { useEffect, useRef, useState } from "preact/hooks";
import { learn } from "./parts/code";

export type Query = { [name: string]: string | undefined };
/** What a path is asked with: a parameter may be there several times. */
export type Asked = { [name: string]: string | readonly string[] | undefined };

export interface Answer<T> {
  data?: T;
  error?: string;
  waiting: boolean;
  /** Asks once more, after an error. */
  retry?: () => void;
}

interface Site {
  put(file: string, data: unknown): void;
  names: string[]; // answers that lie in files of the same name
  others: { [name: string]: string }; // and those whose files are called otherwise
}

declare global {
  var benchwright_site: Site | undefined;
}

/** Whether this is a published site: nothing can be changed, nothing is live. */
export const isStatic = globalThis.benchwright_site !== undefined;

/** The event that asks a visitor for a token. */
export const WANTS_TOKEN = "benchwright-token";

const files = new Map<string, string>();
const here = new Map<string, unknown>(); // by file
if (globalThis.benchwright_site) {
  const site = globalThis.benchwright_site;
  for (const name of site.names) files.set(name, name);
  for (const [name, file] of Object.entries(site.others)) files.set(name, file);
  site.put = (file, data) => void here.set(file, data);
}

/** What the path gives; rejects with a sentence a person can read. */
export async function get<T>(path: string, query: Asked = {}): Promise<T> {
  const answer = isStatic ? await fromFile(path, query) : await fromServer("GET", address(path, query));
  learn(answer);
  return answer as T;
}

/** Sends a change; rejects with a sentence a person can read. */
export async function send<T>(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  const answer = await fromServer(method, address(path, {}), body);
  learn(answer);
  return answer as T;
}

/** The data of a path while a page shows it; asked again when path, query or `again` change. */
export function useData<T>(path: string | null, query: Asked = {}, again = 0): Answer<T> {
  return useAsked(path === null ? null : address(path, query), () => get<T>(path ?? "", query), again);
}

/** The data of several paths at once, in their order; asked again when any of them or `again` changes. */
export function useAll<T>(paths: readonly string[], again = 0, query: Asked = {}): Answer<T[]> {
  const all = paths.map((path) => address(path, query)).join(" ");
  return useAsked(all, () => Promise.all(paths.map((path) => get<T>(path, query))), again);
}

/** What `ask` answers while a page shows it. Asked again when `key` or `again` change; null asks for nothing. */
export function useAsked<T>(key: string | null, ask: () => Promise<T>, again = 0): Answer<T> {
  const [tries, setTries] = useState(0);
  const [answer, setAnswer] = useState<Answer<T> & { key: string | null }>({ waiting: true, key: null });
  useEffect(() => {
    if (key === null) return;
    let wanted = true;
    setAnswer((old) => (old.key === key ? { ...old, waiting: true } : { waiting: true, key }));
    ask().then(
      (data) => wanted && setAnswer({ data, waiting: false, key }),
      (error: Error) => wanted && setAnswer({ error: error.message, waiting: false, key }),
    );
    return () => {
      wanted = false;
    };
  }, [key, again, tries]);
  const present: Answer<T> = key !== null && answer.key === key ? answer : { waiting: key !== null };
  return isStatic ? present : { ...present, retry: () => setTries(tries + 1) }; // files do not come later
}

/** The same answer, with the data of the question before while a new one is under way: what was pressed keeps the focus. */
export function useLast<T>(answer: Answer<T>): Answer<T> {
  const last = useRef<T | undefined>(undefined);
  if (answer.data !== undefined) last.current = answer.data;
  const { current } = last;
  return answer.waiting && answer.data === undefined && current !== undefined ? { ...answer, data: current } : answer;
}

/** Where the server answers; relative, so that it may live below any path. */
export function address(path: string, query: Asked): string {
  const search = new URLSearchParams(pairsOf(query));
  const text = search.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

/** Every parameter that is not empty, those with several values several times. */
function pairsOf(query: Asked): [name: string, value: string][] {
  return Object.entries(query).flatMap(([name, value]) =>
    [value ?? ""].flat().flatMap((one): [string, string][] => (one ? [[name, one]] : [])),
  );
}

/** Opens the prompt of frame/token.tsx. */
export function askForToken(): void {
  dispatchEvent(new Event(WANTS_TOKEN));
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
    throw new Error("the server cannot be reached");
  }
  const text = await response.text();
  if (response.ok) return text ? parsed(text) : null;
  if (response.status === 401) askForToken();
  throw new Error(message(text) ?? `the server answered ${response.status}`);
}

/** Something between the page and its server may answer with a page of its own. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the answer did not come from a Benchwright server");
  }
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

const LISTS = ["runs", "series", "findings", "causes"]; // a site has each whole, and pages filter it

/** Whether this can be had: a server answers everything, a site holds what was published with it. */
export function isThere(path: string, query: Asked = {}): boolean {
  return !isStatic || fileOf(path, query) !== undefined;
}

/** What a site holds of a path: the questions that it can answer. */
export function publishedQueries(path: string): { [name: string]: string }[] {
  const begin = `${fileName(path, {})}.`;
  return [...files.keys()]
    .filter((name) => name.startsWith(begin))
    .map((name) => Object.fromEntries(name.slice(begin.length).split(".").map(pairOf)));
}

function pairOf(written: string): [string, string] {
  const [name = "", ...rest] = decodeURIComponent(written.replace(/_(?=[0-9a-f]{2})/g, "%")).split("=");
  return [name, rest.join("=")];
}

async function fromFile(path: string, query: Asked): Promise<unknown> {
  const file = fileOf(path, query);
  if (file !== undefined && !here.has(file)) await loaded(file);
  if (file === undefined || !here.has(file)) throw new Error("not included in this published copy");
  return here.get(file);
}

function fileOf(path: string, query: Asked): string | undefined {
  const exact = files.get(fileName(path, query));
  return exact ?? (LISTS.includes(path.split("/", 1)[0]!) ? files.get(fileName(path, {})) : undefined);
}

/** The name under which a site keeps what a path gives; `pages.site.files.answer_name` in Python is the same. */
export function fileName(path: string, query: Asked): string {
  const words = Object.entries(query)
    .flatMap(([name, given]) => [given].flat().map((value) => (value ? `${name}=${value}` : "")))
    .filter(Boolean)
    .sort();
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

function loaded(file: string): Promise<void> {
  return new Promise((done) => {
    const script = document.createElement("script");
    script.src = `data/${file}.js`;
    script.onload = script.onerror = () => {
      script.remove();
      done();
    };
    document.head.append(script);
  });
}
