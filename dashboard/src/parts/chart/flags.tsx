// What stands at an instant: change points as flags on top, notes as pennants at the bottom. Real links, so that keys reach them.

import type { RefObject } from "preact";
import type uPlot from "uplot";
import type { Verdict } from "../../shapes";
import { Arrow } from "../badges";

export interface ChartMark {
  at: number;
  label: string;
  /** Which line it belongs to, where there are several. */
  of?: string;
  verdict: Verdict;
  /** Whether the number rose. */
  up: boolean;
  href: string;
}

export interface ChartNote {
  id: number;
  at: number;
  text: string;
}

interface FlagsProps {
  box: RefObject<HTMLDivElement | null>;
  marks: readonly ChartMark[];
  notes: readonly ChartNote[];
}

export function Flags({ box, marks, notes }: FlagsProps) {
  return (
    <div ref={box} class="chart-flags">
      {marks.map((mark) => (
        <div key={mark.href} class={`flag ${mark.verdict}`} data-at={mark.at}>
          <a href={mark.href} title={said(mark)} aria-label={`${mark.verdict}: ${said(mark)}`}>
            <Arrow up={mark.up} /> <span class="flag-text">{mark.label}</span>
          </a>
        </div>
      ))}
      {notes.map((note, index) => (
        <div key={`note ${note.id}`} class="pennant" data-at={note.at}>
          <a
            href={`#note-${note.id}`}
            onClick={(event) => show(event, note.id)}
            title={note.text}
            aria-label={`Note ${index + 1}: ${note.text}`}
          >
            {index + 1}
          </a>
        </div>
      ))}
    </div>
  );
}

function said({ label, of }: ChartMark): string {
  return of ? `${of}: ${label}` : label;
}

/** Puts every flag where its instant is; those that would lie over the next one lose their words. */
export function placeFlags(u: uPlot, box: HTMLDivElement): void {
  const { over } = u;
  box.style.left = `${over.offsetLeft}px`;
  box.style.top = `${over.offsetTop}px`;
  box.style.width = `${over.clientWidth}px`;
  box.style.height = `${over.clientHeight}px`;
  const all = [...box.children] as HTMLElement[];
  const places = all.map((one) => u.valToPos(Number(one.dataset["at"]), "x"));
  const notesFrom = all.findIndex((one) => one.classList.contains("pennant"));
  all.forEach((one, index) => {
    const left = places[index]!;
    const next = all.findIndex(
      (other, at) =>
        at !== index && other.className === one.className && places[at]! > left && places[at]! - left < 140,
    );
    one.hidden = left < -1 || left > over.clientWidth + 1;
    one.classList.toggle("tight", next >= 0);
    one.classList.toggle("turned", left > over.clientWidth - 150);
    one.style.transform = `translateX(${left.toFixed(1)}px)`;
    one.style.setProperty(
      "--rise",
      String(one.classList.contains("pennant") ? lowerOnes(places.slice(notesFrom, index), left) : 0),
    );
  });
}

/** How many pennants stand where this one would lie over them. */
function lowerOnes(before: readonly number[], left: number): number {
  return before.filter((other) => Math.abs(other - left) < 25).length;
}

/** Addresses after # are pages here, so the note is gone to by hand. */
function show(event: Event, id: number): void {
  event.preventDefault();
  const row = document.getElementById(`note-${id}`);
  row?.scrollIntoView({ block: "nearest" });
  row?.focus();
}
