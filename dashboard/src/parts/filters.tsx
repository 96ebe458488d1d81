// What a list is narrowed to. All of it is in the address.
//   <div class="row filters">
//     <Words given={query.words} placeholder="..." />
//     <Entered label="Tag" name="tag" query={query} />
//     <Choice label="Metric" name="metric" query={query} options={[[value, text]]} />
//   </div>

import { useEffect, useState } from "preact/hooks";
import type { Query } from "../api";
import { change } from "../route";

/** Kept here while it is typed; the address follows after a moment. */
export function Words({ given = "", placeholder }: { given?: string | undefined; placeholder: string }) {
  const [words, setWords] = useState(given);
  useEffect(() => setWords(given), [given]);
  useEffect(() => {
    if (words.trim() === given) return;
    const timer = setTimeout(() => change({ words: words.trim() }, true), 250);
    return () => clearTimeout(timer);
  }, [words]);
  return (
    <label class="field grow">
      Filter
      <input
        type="search"
        value={words}
        placeholder={placeholder}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
    </label>
  );
}

/** A value that has to be whole before it means anything: the address follows once it is entered. */
export function Entered({ label, name, query }: { label: string; name: string; query: Query }) {
  const given = query[name] ?? "";
  const [text, setText] = useState(given); // what is typed stays when data arrives meanwhile
  useEffect(() => setText(given), [given]);
  return (
    <label class="field">
      {label}
      <input
        type="search"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => change({ [name]: event.currentTarget.value.trim(), before: undefined })}
      />
    </label>
  );
}

interface ChoiceProps {
  label: string;
  name: string;
  query: Query;
  options: readonly Option[];
  /** What no choice is called. */
  every?: string | undefined;
}

export type Option = readonly [value: string, text: string];

/** One of several, or none: then all of them are meant. */
export function Choice({ label, name, query, options, every = `All ${label.toLowerCase()}s` }: ChoiceProps) {
  const given = query[name] ?? "";
  const known = !given || options.some(([value]) => value === given);
  return (
    <label class="field">
      {label}
      {/* a list of pages begins anew */}
      <select value={given} onChange={(event) => change({ [name]: event.currentTarget.value, before: undefined })}>
        <option value="">{every}</option>
        {!known && <option value={given}>{given}</option>}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
