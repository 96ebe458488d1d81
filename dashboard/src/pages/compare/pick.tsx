// A field that searches a list: type to narrow it, arrow keys and Enter or a click to choose.
//   <Pick label="Run" options={[{ value, name, hint }]} chosen={value} onPick={(value) => ...} free="Use as a run" />
// With `free`, words that are not in the list can be chosen too: the list may be longer than what was loaded.

import { useEffect, useId, useState } from "preact/hooks";
import { hasWords } from "../../parts/words";
import "./pick.css";

export interface Option {
  value: string;
  name: string;
  hint?: string;
}

interface Props {
  label: string;
  options: readonly Option[];
  chosen: string;
  onPick: (value: string) => void;
  free?: string;
}

const MOST = 60; // drawn; the words narrow down to the others

export function Pick({ label, options, chosen, onPick, free }: Props) {
  const id = useId();
  const [words, setWords] = useState<string | null>(null); // null: closed
  const [active, setActive] = useState(0);
  const found = words === null ? [] : narrowed(options, words, free);
  const present = options.find((option) => option.value === chosen)?.name ?? chosen;
  useEffect(() => document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" }), [active]);
  const pick = (option: Option) => {
    setWords(null);
    if (option.value !== chosen) onPick(option.value);
  };
  const open = (text: string) => {
    setWords(text);
    setActive(0);
  };
  const keys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") setWords(null);
    else if (event.key === "Enter" && words !== null) found[active] && pick(found[active]);
    else if (by && words === null) open("");
    else if (by) setActive((now) => Math.min(found.length - 1, Math.max(0, now + by)));
    else return;
    event.preventDefault();
  };
  return (
    <div class="pick field">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        aria-expanded={words !== null}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found[active] ? `${id}-${active}` : undefined}
        autocomplete="off"
        placeholder="Search…"
        value={words ?? present}
        title={present}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => words === null && open("")}
        onInput={(event) => open(event.currentTarget.value)}
        onBlur={() => setWords(null)}
        onKeyDown={keys}
      />
      {words !== null && (
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a combobox, as ARIA describes it
        <ul class="pick-list" role="listbox" id={`${id}-list`} aria-label={label}>
          {found.map((option, i) => (
            // biome-ignore lint/a11y: the field keeps the focus and has the keys
            <li
              key={option.value}
              id={`${id}-${i}`}
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: as its list
              role="option"
              aria-selected={i === active}
              // the field would lose the focus, and the list with it, before the click arrives
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => pick(option)}
            >
              {option.name} {option.hint && <span class="soft small">{option.hint}</span>}
            </li>
          ))}
          {!found.length && <li class="soft">No matches.</li>}
        </ul>
      )}
    </div>
  );
}

function narrowed(options: readonly Option[], words: string, free: string | undefined): Option[] {
  const found = options.filter(({ name, hint = "", value }) => hasWords(`${name} ${hint} ${value}`, words));
  const typed = words.trim();
  const asTyped =
    free && typed && !options.some((o) => o.value === typed) ? [{ value: typed, name: `${free} “${typed}”` }] : [];
  return [...found.slice(0, MOST), ...asTyped];
}
