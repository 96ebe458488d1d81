// What a list is narrowed to. All of it is in the address.
//   <div class="row filters">
//     <Words given={query.words} placeholder="..." />
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
      Words
      <input
        type="search"
        value={words}
        placeholder={placeholder}
        onInput={(event) => setWords(event.currentTarget.value)}
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
export function Choice({ label, name, query, options, every = `Every ${label.toLowerCase()}` }: ChoiceProps) {
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
